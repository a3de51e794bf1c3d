// What the shards of a plan are: texts, and a picture of a table that is cut.

import { el, svg } from "./dom.js";
import { bytes, counted, ms, number, percent, sum } from "./text.js";

/** In place of a device's number: each device holds a copy. */
const EVERY_DEVICE = -1;

/** Size of a picture, and the least size of a part whose device is written into it, in pixels. */
const WIDTH = 640;
const HEIGHT = 240;
const LABELLED = { width: 62, height: 17 };

export const kindName = (kind) => kind.toLowerCase();
export const holds = (device) => (shard) => shard.device === device || shard.device === EVERY_DEVICE;
export const byTable = (shards) => Map.groupBy(shards, (shard) => shard.table);

const overlap = (part, shard) =>
  part.columnOffset < shard.columnOffset + shard.columns && shard.columnOffset < part.columnOffset + part.columns &&
  part.rowOffset < shard.rowOffset + shard.rows && shard.rowOffset < part.rowOffset + part.rows;

/** Returns which device of its replica group a rank is; negative numbers stay. */
export function positionOf(plan, rank) {
  const { groups, layout } = plan.replication;
  if (rank < 0) return rank;
  return layout === "STRIDED" ? Math.floor(rank / groups) : rank % plan.deviceCosts.length;
}

/** Returns how many shards of a plan get anything from another device; a copy is one shard on all devices. */
function movedShards(plan) {
  const moves = byTable(plan.moves);
  return plan.shards.filter((shard) =>
    (moves.get(shard.table) || []).some((move) => holds(positionOf(plan, move.toDevice))(shard) && overlap(move, shard))).length;
}

/** Describes what moves: a shard may move in several parts. */
export const movesText = (plan) =>
  plan.moves.length
    ? `${counted(movedShards(plan), "shard")} in ${counted(plan.moves.length, "part")}, ${bytes(sum(plan.moves, (move) => move.bytes))}`
    : "none";

/** Returns the number of devices of a plan, and of its replica groups if there are several. */
export const devicesText = (plan) => (plan.replication.groups > 1 ? groupsText(plan) : `${plan.deviceCosts.length}`);

export const codecsText = (plan) => plan.codecs.map(({ scope, direction, codec, savedMs }) =>
  `${scope.toLowerCase()} ${direction.toLowerCase()} ${codec.name} (saves ${ms(savedMs)})`).join(", ");

/** Returns how many replica groups a plan has, of how many devices, and what synchronization takes. */
export function groupsText(plan) {
  const { groups, layout, synchronizationSteps: steps, synchronizationMs } = plan.replication;
  return groups > 1
    ? `${groups} ${layout.toLowerCase()} groups of ${plan.deviceCosts.length} devices, synchronized every ${steps > 1 ? `${steps} steps` : "step"} in ${ms(synchronizationMs)}`
    : "one group";
}

/** Returns the number of rows of each table of a plan. */
export const rowsOf = (shards) =>
  new Map([...byTable(shards)].map(([table, parts]) => [table, Math.max(...parts.map((part) => part.rowOffset + part.rows))]));

/** Returns the shards of a table without the copies of its hot rows: most used ones, if others are not copied. */
export function otherShards(shards) {
  const others = shards.filter((shard) => shard.device !== EVERY_DEVICE);
  return others.length ? others : shards;
}

/** Returns the copies of a table's hot rows, if it has some. */
const hotRows = (shards) => shards.find((shard) => shard.device === EVERY_DEVICE && otherShards(shards).length < shards.length);

/** Returns how a table is sharded: "row_wise", or "row_wise, 4,096 hot rows". */
export function shardingText(shards) {
  const hot = hotRows(shards);
  return kindName(otherShards(shards)[0].kind) + (hot ? `, ${counted(hot.rows, "hot row")}` : "");
}

/** Returns how many tables are of each kind: "30 table_wise, 2 row_wise". */
export function kindsText(shards) {
  const tables = [...byTable(shards).values()];
  const kinds = Map.groupBy(tables, (parts) => kindName(otherShards(parts)[0].kind));
  const hot = tables.filter(hotRows).length;
  return [...kinds].sort(([, a], [, b]) => b.length - a.length).map(([kind, of]) => `${number(of.length)} ${kind}`).join(", ") +
    (hot ? `; ${number(hot)} with hot rows` : "");
}

export const columnsText = (part) => `${number(part.columnOffset)} to ${number(part.columnOffset + part.columns - 1)}`;

/** Returns the rows of a part of a table with so many rows. */
export const rowsText = (part, rows) =>
  part.rowOffset === 0 && part.rows >= rows ? "all" : `${number(part.rowOffset)} to ${number(part.rowOffset + part.rows - 1)}`;

/** What a share of missed lookups is worth, by what is known of the use of rows. */
const RESERVATIONS = {
  ACCESS_CDF: "",
  REUSE_HISTOGRAM: "; estimated from its reuse histogram",
  NONE: "; its use is unknown, all rows count alike",
};

/** Returns how much of a cached table device memory holds, and how many lookups miss, if that is given; nothing if it holds all. */
export const cacheText = (share, misses) =>
  share ? `cache of ${percent(share)} of the rows` + (misses ? `, ${percent(misses.lookupShare)} of the lookups miss${misses.leastShare ? `; below its least of ${percent(misses.leastShare)}` : ""}${RESERVATIONS[misses.known]}` : "") : "";

const andCache = ({ cacheShare }) => (cacheShare ? `, ${cacheText(cacheShare)}` : "");

/** Returns what a shard holds of its table. */
export function shardText(shard, rows) {
  const ofRows = rowsText(shard, rows);
  if (shard.device === EVERY_DEVICE) return ofRows === "all" ? "a copy, as on every device" : `hot rows ${ofRows}, a copy as on every device`;
  const cache = andCache(shard);
  if (shard.kind === "TABLE_WISE" && ofRows === "all") return `whole${cache}`;
  return `columns ${columnsText(shard)}` + (ofRows === "all" ? "" : `, rows ${ofRows}`) + cache;
}

export const toText = (device) => (device === EVERY_DEVICE ? "every other device" : `device ${device}`);
export const fromText = (device) => (device === EVERY_DEVICE ? "any copy" : `device ${device}`);

/** Returns where a table is, as a sentence. */
export function layoutText(shards) {
  const hot = hotRows(shards);
  if (hot) return `${counted(hot.rows, "hot row")} on every device, others: ${layoutText(otherShards(shards))}`;
  const [first] = shards;
  if (first.device === EVERY_DEVICE) return "a copy on every device";
  const cache = andCache(first);
  if (shards.length === 1) return `whole on device ${first.device}${cache}`;
  const columns = new Set(shards.map((shard) => shard.columnOffset)).size;
  const rows = shards.length / columns;
  const devices = [...new Set(shards.map((shard) => shard.device))].sort((a, b) => a - b);
  const consecutive = devices.at(-1) - devices[0] === devices.length - 1;
  return (columns > 1 ? `${counted(columns, "range")} of columns` : "all columns") +
    (rows > 1 ? (columns > 1 ? ", each" : "") + ` cut into blocks of at most ${counted(first.rows, "row")}` : "") +
    `, on devices ${consecutive ? `${devices[0]} to ${devices.at(-1)}` : devices.join(", ")}${cache}`;
}

/** Draws a table as a rectangle of columns by rows, cut into the parts that devices hold; marks those of one device. */
export function cutPicture(table, shards, device) {
  const columns = Math.max(...shards.map((shard) => shard.columnOffset + shard.columns));
  const rows = Math.max(...shards.map((shard) => shard.rowOffset + shard.rows));
  const x = (column) => (WIDTH * column) / columns;
  const y = (row) => (HEIGHT * row) / rows;
  const description = `${table}, ${kindName(otherShards(shards)[0].kind)}: ${layoutText(shards)}`;
  return el("figure", { class: "cut" },
    el("figcaption", {}, description),
    svg("svg", { viewBox: `-1 -1 ${WIDTH + 2} ${HEIGHT + 2}`, role: "img", "aria-label": description },
      shards.map((shard) => {
        const box = { x: x(shard.columnOffset), y: y(shard.rowOffset), width: x(shard.columns), height: y(shard.rows) };
        const label = shard.device === EVERY_DEVICE ? "every device" : `device ${shard.device}`;
        return svg("g", { class: holds(device)(shard) ? "chosen" : null },
          svg("title", {}, `${label}: ${shardText(shard, rows)}`),
          svg("rect", box),
          box.width >= LABELLED.width && box.height >= LABELLED.height &&
            svg("text", { x: box.x + box.width / 2, y: box.y + box.height / 2 }, label));
      })),
    el("p", { class: "soft" }, `${counted(columns, "column")} from left to right, ${counted(rows, "row")} from top to bottom. Marked: device ${device}.`));
}

// What headings mean, shown when the pointer rests on them. docs/CONCEPTS.md explains more.

const MEANINGS = {
  "Above the lower bound": "How much more the step is predicted to take than the lower bound, which no plan can beat.",
  "Alarm above": "Recent ratios above this raise an alarm.",
  "Alarm below": "Recent ratios below this raise an alarm.",
  "Backward communication": "Collectives that carry gradients back to the devices with the shards.",
  "Bottleneck": "The device that the step waits for, and what takes its time.",
  "Challenger": "The retrained model that was compared with the champion.",
  "Champion": "The model that predicted until the decision.",
  "Computation": "Lookups of embeddings, their gradients and the update of the weights.",
  "Forward communication": "Collectives that carry outputs of lookups to the devices that use them.",
  "Generation": "Number of the workload's accepted events. A plan answers one or several generations.",
  "Hardware": "The kind of devices; it selects the cost model.",
  "Health": "Whether the workload fits, is planned, and costs what was predicted.",
  "Idle": "Time in which a device waits for the slowest one before the forward communication.",
  "Imbalance": "How much later than the mean the last device is ready for the forward communication.",
  "Mean error": "Mean relative error of the model on computations that it was not trained on.",
  "Measured step": "What the trainer reported of its slowest device.",
  "Moved": "Bytes of the shards that change their device.",
  "Moves": "Shards that change their device, counted from the plan that runs.",
  "Planning latency": "Time from the change to the plan that answers it.",
  "Plans lose": "Estimated time that plans lose by the model's errors: the champion's, then the challenger's.",
  "Pooling factor": "Mean number of lookups per sample.",
  "Predicted alone": "Predicted computation of the table if it were alone on a device.",
  "Predicted step": "What the cost model says that the slowest device takes for a step.",
  "Ratio": "Measured cost divided by predicted cost; 1 if the prediction is right.",
  "Recent ratio": "Measured over predicted cost in the latest reports.",
  "Replica groups": "Groups of devices that each hold a whole copy of all sharded tables.",
  "Search": "Quick: the answer to a change. Deep: the background search while the workload is idle.",
  "Share of cost": "Share of the table in the sum of all tables' predicted computations.",
  "Trained on": "Simulated costs come from a simulator, not from a device.",
  "Trainer": "What the training job reported: whether it adopted the plan, rejected it, or moved its shards.",
  "Usual ratio": "Measured over predicted cost before the alarm.",
};

/** Returns what a heading means, or undefined if it explains itself. */
export const meaning = (heading) => MEANINGS[heading];

package io.shardtide.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.files.MalformedFileException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunInfoTest {
  @TempDir private Path folder;

  private RunInfo read(String json) throws IOException {
    Files.writeString(folder.resolve("run-info.json"), json);
    return RunInfo.find(folder).orElseThrow();
  }

  @Test
  void it_is_in_the_folder_or_its_parent_or_nowhere() throws IOException {
    Path train = Files.createDirectories(folder.resolve("a/train"));
    assertThat(RunInfo.find(train)).isEmpty();
    Files.writeString(folder.resolve("a/run-info.json"), "{\"hardware\":\"h200\"}");
    assertThat(RunInfo.find(train).orElseThrow().hardware()).contains("h200");
    Files.writeString(train.resolve("run-info.json"), "{\"hardware\":\"h100\"}");
    assertThat(RunInfo.find(train).orElseThrow().hardware()).contains("h100");
  }

  @Test
  void samples_are_of_one_device_and_of_the_models_hardware() throws IOException {
    String h200 =
        "{\"hardware\":\"h200\",\"device\":\"NVIDIA H200\",\"runs\":[{\"device\":\"NVIDIA H200\"}]}";
    assertThat(read(h200).problem("h200")).isEmpty();
    assertThat(read(h200).problem("h100").orElseThrow())
        .endsWith("run-info.json: samples must be of the model's hardware, \"h100\", got \"h200\"");
    assertThat(read(h200.replace("\"h200\"", "null")).problem("h100"))
        .as("the collector was not told the name")
        .isEmpty();
    assertThat(
            read(h200.replace("[{", "[{\"device\":\"NVIDIA H100\"},{"))
                .problem("h200")
                .orElseThrow())
        .endsWith(
            "run-info.json: samples must be of one kind of device, got runs on NVIDIA H100, NVIDIA H200");
  }

  @Test
  void a_file_of_another_format_is_rejected() {
    assertThatThrownBy(() -> read("{\"runs\":[{\"device\":7}]}"))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageContaining("run-info.json")
        .hasMessageContaining("runs[0]: device must be a string, got 7");
    assertThatThrownBy(() -> read("[]")).isInstanceOf(MalformedFileException.class);
  }
}

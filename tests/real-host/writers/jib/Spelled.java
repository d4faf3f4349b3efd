// In jib's own package: its templates are closed to others.
package com.google.cloud.tools.jib.image.json;

import com.google.cloud.tools.jib.api.DescriptorDigest;
import com.google.cloud.tools.jib.json.JsonTemplate;
import com.google.cloud.tools.jib.json.JsonTemplateMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Writes indexes and image manifests as jib pushes them. */
public class Spelled {
  private static final String AMD64 = "5861314d7fccb39c2192173240eab44fa35ca66426201ca2acd0630a6258dd51";
  private static final String ARM64 = "f69162950f235e3cdbbad33f1f912d1a504be90d8a37d002c735d6f3e3882265";

  private static V22ManifestListTemplate list() {
    V22ManifestListTemplate list = new V22ManifestListTemplate();
    for (String[] each : new String[][] {{AMD64, "amd64"}, {ARM64, "arm64"}}) {
      V22ManifestListTemplate.ManifestDescriptorTemplate entry = new V22ManifestListTemplate.ManifestDescriptorTemplate();
      entry.setMediaType(V22ManifestTemplate.MANIFEST_MEDIA_TYPE);
      entry.setSize(527);
      entry.setDigest("sha256:" + each[0]);
      entry.setPlatform(each[1], "linux");
      list.addManifest(entry);
    }
    return list;
  }

  private static OciIndexTemplate index() throws Exception {
    OciIndexTemplate index = new OciIndexTemplate();
    for (String[] each : new String[][] {{AMD64, "amd64"}, {ARM64, "arm64"}}) {
      OciIndexTemplate.ManifestDescriptorTemplate entry =
          new OciIndexTemplate.ManifestDescriptorTemplate(OciManifestTemplate.MANIFEST_MEDIA_TYPE, 527, DescriptorDigest.fromHash(each[0]));
      entry.setPlatform(each[1], "linux");
      index.addManifest(entry);
    }
    return index;
  }

  private static BuildableManifestTemplate image(BuildableManifestTemplate image) throws Exception {
    image.setContainerConfiguration(1470, DescriptorDigest.fromHash(AMD64));
    image.addLayer(3642247, DescriptorDigest.fromHash(ARM64));
    image.addLayer(120, DescriptorDigest.fromHash(AMD64));
    return image;
  }

  private static void write(Path folder, String name, JsonTemplate document) throws IOException {
    Files.write(folder.resolve(name + ".json"), JsonTemplateMapper.toByteArray(document));
  }

  public static void main(String[] arguments) throws Exception {
    Path folder = Paths.get(arguments[0]);
    write(folder, "jib-docker-index", list());
    write(folder, "jib-index", index());
    write(folder, "jib-image", image(new OciManifestTemplate()));
    write(folder, "jib-docker-image", image(new V22ManifestTemplate()));
  }
}

//! The models of Ollama: `manifests/REGISTRY/NAMESPACE/NAME/TAG` names the blob with the weights by its hash.

use super::Found;
use super::walk::{Walk, small_file};
use serde::Deserialize;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// Larger manifests list each tensor as a layer, and no GGUF file.
const MAX_MANIFEST: u64 = 64 << 10;
/// The layer with the GGUF file.
const MODEL_LAYER: &str = "application/vnd.ollama.image.model";
/// The registry and the namespace that Ollama leaves out of a name.
const REGISTRY: &str = "registry.ollama.ai";
const NAMESPACE: &str = "library";
/// The tag of a name without a tag.
pub(super) const LATEST: &str = "latest";

#[derive(Deserialize)]
struct Manifest {
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    #[serde(rename = "mediaType")]
    media_type: String,
    digest: String,
}

/// The models whose blob exists.
pub(super) fn models(folder: &Path, walk: &mut Walk) -> Vec<Found> {
    let mut manifests = vec![folder.join("manifests")];
    for _level in ["registry", "namespace", "name", "tag"] {
        manifests = manifests.iter().flat_map(|f| walk.entries(f)).map(|e: DirEntry| e.path()).collect();
    }
    manifests.iter().filter_map(|manifest| model(folder, manifest)).collect()
}

fn model(folder: &Path, manifest: &Path) -> Option<Found> {
    let name = name(manifest)?;
    let path = folder.join("blobs").join(blob(&small_file(manifest, MAX_MANIFEST)?)?);
    let blob = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    Some(Found { name, path: Some(path), bytes: blob.len(), parts: None })
}

/// The name, from the last four parts of the path of a manifest.
fn name(manifest: &Path) -> Option<String> {
    let mut parts = manifest.iter().rev().map(|part| part.to_string_lossy());
    let (tag, name, namespace, registry) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let before = match (&*registry, &*namespace) {
        (REGISTRY, NAMESPACE) => String::new(),
        (REGISTRY, _) => format!("{namespace}/"),
        _ => format!("{registry}/{namespace}/"),
    };
    Some(format!("{before}{name}:{tag}"))
}

/// The file name of the blob: a digest `sha256:HEX` is stored as `sha256-HEX`.
fn blob(manifest: &[u8]) -> Option<PathBuf> {
    let manifest: Manifest = serde_json::from_slice(manifest).ok()?;
    let layer = manifest.layers.iter().find(|layer| layer.media_type == MODEL_LAYER)?;
    let hash = layer.digest.strip_prefix("sha256:")?;
    // A path in place of the hash would lead out of the folder.
    let is_hash = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| format!("sha256-{hash}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_registry_and_namespace_are_left_out_of_a_name() {
        let cases = [
            ("registry.ollama.ai/library/llama3.2/1b", "llama3.2:1b"),
            ("registry.ollama.ai/library/llama3.2/latest", "llama3.2:latest"),
            ("registry.ollama.ai/me/tuned/v2", "me/tuned:v2"),
            ("hf.co/org/Model-GGUF/Q4_K_M", "hf.co/org/Model-GGUF:Q4_K_M"),
            ("example.com/library/x/y", "example.com/library/x:y"),
        ];
        for (path, wanted) in cases {
            assert_eq!(name(&Path::new("/manifests").join(path)).as_deref(), Some(wanted));
        }
        assert_eq!(name(Path::new("a/b")), None);
    }

    #[test]
    fn the_blob_is_that_of_the_layer_with_the_model() {
        let hash = "0123456789abcdef".repeat(4);
        let layer = |kind: &str, digest: &str| format!(r#"{{"mediaType": "{kind}", "digest": "{digest}", "size": 1}}"#);
        let manifest = |layers: &[String]| format!(r#"{{"schemaVersion": 2, "layers": [{}]}}"#, layers.join(", "));
        let other = layer("application/vnd.ollama.image.projector", &format!("sha256:{}", "f".repeat(64)));
        let good = layer(MODEL_LAYER, &format!("sha256:{hash}"));
        let wanted = PathBuf::from(format!("sha256-{hash}"));
        assert_eq!(blob(manifest(&[other.clone(), good.clone()]).as_bytes()), Some(wanted));
        let bad = [
            manifest(&[other]),
            manifest(&[layer(MODEL_LAYER, "sha256:../../../etc/passwd")]),
            manifest(&[layer(MODEL_LAYER, "sha256:")]),
            manifest(&[layer(MODEL_LAYER, &format!("md5:{hash}"))]),
            manifest(&[layer(MODEL_LAYER, &format!("sha256:{}/", &hash[1..]))]),
            r#"{"layers": null}"#.to_string(),
            "{}".to_string(),
            "[".repeat(60_000),
            good,
        ];
        for manifest in bad {
            assert_eq!(blob(manifest.as_bytes()), None, "{manifest:.100}");
        }
    }
}

#!/bin/sh
# Measures the GPU of this machine in 9 minutes: ./run.sh [FOLDER]. The results are in FOLDER/results.jsonl; without a FOLDER, next
# to this script. The folder needs 9 GB for model files, one at a time. Nothing is installed, and no network is used.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
folder=${1:-$here}
[ $# -eq 0 ] || shift
has() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "$1"; }

# The loader of the system, or else the one in this folder.
has 'libvulkan\.so\.1 ' || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/lib"

# Containers may have NVIDIA's driver without the file that describes it to the loader.
described=$(ls /usr/share/vulkan/icd.d /etc/vulkan/icd.d 2>/dev/null)
if [ -z "$described$VK_DRIVER_FILES$VK_ICD_FILENAMES" ] && has 'libGLX_nvidia\.so\.0 '; then
    echo '{"file_format_version": "1.0.0", "ICD": {"library_path": "libGLX_nvidia.so.0", "api_version": "1.3.0"}}' \
        > "$here/nvidia.json"
    export VK_DRIVER_FILES="$here/nvidia.json"
fi

exec "$here/xtask" gpu --run "$folder" "$@"

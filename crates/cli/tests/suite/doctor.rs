//! `doctor`, and the engine for GPUs on a machine without a driver.

use crate::common::{Ran, program};
use serde_json::Value;

/// The program, which finds no driver of Vulkan.
fn without_driver(arguments: &[&str]) -> Ran {
    let mut command = program();
    command.env("VK_DRIVER_FILES", "/nowhere/icd.json").env("VK_ICD_FILENAMES", "/nowhere/icd.json");
    command.args(arguments).output().expect("the program starts").into()
}

#[test]
fn doctor_says_which_engines_open_and_why_others_do_not() {
    let ran = without_driver(&["doctor"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines: Vec<&str> = ran.text().lines().collect();
    assert!(lines.contains(&"cpu: available"), "{lines:#?}");
    assert!(lines.contains(&"reference: available"), "{lines:#?}");
    if cfg!(target_os = "linux") {
        let reason = lines.iter().find(|line| line.starts_with("wgpu: not available: ")).expect("a reason");
        assert!(reason.contains("no driver of Vulkan was found") && reason.contains("libvulkan.so.1"), "{reason}");
    }
}

#[test]
fn doctor_gives_json() {
    let ran = without_driver(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(ran.text()).unwrap();
    let engines = report["engines"].as_array().unwrap();
    let names: Vec<&str> = engines.iter().map(|engine| engine["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["wgpu", "cpu", "reference"]);
    let cpu = &engines[1];
    assert_eq!((cpu["available"].as_bool(), cpu["reason"].is_null()), (Some(true), true));
    let device = &cpu["devices"][0];
    assert_eq!((device["type"].as_str(), device["name"].as_str()), (Some("cpu"), Some("cpu")));
    assert!(device["memory"].as_u64().unwrap() > 0 && device["variant"].is_string());
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_driver_the_engine_is_an_error_of_one_line_and_auto_takes_the_cpu() {
    let ran = without_driver(&["run", "--engine", "wgpu", "Once", "-n", "3"]);
    assert_eq!(ran.code, Some(1));
    let error: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(error.len(), 1, "{}", ran.stderr);
    assert!(error[0].contains("engine wgpu has no device: no driver of Vulkan was found"), "{}", error[0]);
    let ran = without_driver(&["run", "Once", "-n", "3", "--seed", "1"]);
    assert_eq!((ran.code, ran.stderr.contains("wgpu")), (Some(0), false), "{}", ran.stderr);
}

//! Looking for a toolkit on machines that hold old, broken and good ones.

use std::path::Path;
use std::time::Duration;

use crate::support::Machine;
use blockgate_arch::{ToolkitRequirement, ToolkitVersion};
use blockgate_toolkit::{
    BuildTools, ListNeeds, Missing, Places, Rejection, Toolkit, ToolkitError, ToolkitSource, attached_devices,
};

fn requirement(text: &str) -> ToolkitRequirement {
    text.parse().unwrap()
}

/// The paths that were passed over, relative to the machine, each with its reason.
fn passed_over(machine: &Machine, places: &Places, text: &str) -> Vec<(String, Rejection)> {
    let (_, passed_over) = places.find(&requirement(text));
    let root = machine.path("");
    passed_over
        .into_iter()
        .map(|one| {
            let relative = one.candidate.nvcc.strip_prefix(&root).unwrap();
            (relative.to_str().unwrap().to_owned(), one.reason)
        })
        .collect()
}

#[test]
fn every_way_to_be_no_toolkit_is_told_apart() {
    let machine = Machine::new();
    machine.cuda_program("old/bin/nvcc", "12.4.131");
    machine.write("text/bin/nvcc", "not a program");
    machine.script("rubbish/bin/nvcc", "echo 'clang version 19.1.7'");
    machine.script("silent/bin/nvcc", "exit 0");
    machine.script("failing/bin/nvcc", "echo 'no licence' >&2; exit 5");
    machine.script("hanging/bin/nvcc", "exec sleep 5");
    machine.script("endless/bin/nvcc", "exec yes");

    let reason = |folder: &str| {
        let mut places = machine.places();
        places.cuda_home = Some(machine.path(folder).into_os_string());
        places.query_limits.time = Duration::from_millis(400);
        let mut all = passed_over(&machine, &places, ">=12.9");
        assert_eq!(all.len(), 1, "{folder}");
        all.remove(0).1.to_string()
    };
    assert_eq!(reason("old"), "it is CUDA 12.4.131, and >=12.9 is required");
    assert_eq!(reason("absent"), "there is no such program");
    assert!(reason("text").starts_with("it cannot be run (Permission denied"));
    assert_eq!(
        reason("rubbish"),
        "`--version` names no CUDA release; it starts with `clang version 19.1.7`"
    );
    assert_eq!(
        reason("silent"),
        "`--version` names no CUDA release; it starts with ``"
    );
    assert_eq!(
        reason("failing"),
        "`--version` fails (exit status: 5): no licence"
    );
    assert_eq!(reason("hanging"), "`--version` does not answer within 0.4 s");
    assert!(reason("endless").contains("it starts with `y`"));
}

#[test]
fn places_are_tried_in_order_and_an_explicit_one_is_never_skipped_silently() {
    let machine = Machine::new();
    let named = machine.cuda_program("mine/nvcc", "12.8.93");
    machine.cuda_program("home/bin/nvcc", "11.8.89");
    machine.cuda_program("bin/nvcc", "12.4.131");
    machine.cuda_program("usr-local/cuda-12.9/bin/nvcc", "12.9.86");
    machine.cuda_program("usr-local/cuda-13.0/bin/nvcc", "13.0.88");
    machine.write("usr-local/cuda-samples/README", "no compiler here");
    std::os::unix::fs::symlink(
        machine.path("usr-local/cuda-12.9"),
        machine.path("usr-local/cuda"),
    )
    .unwrap();
    let places = Places {
        cudacxx: Some(named.into_os_string()),
        cuda_home: Some(machine.path("home").into_os_string()),
        cuda_path: Some(machine.path("home").into_os_string()),
        ..machine.places()
    };

    let chosen = |text: &str| {
        let (found, passed_over) = places.find(&requirement(text));
        let (source, tool) = found.unwrap();
        (source, tool.version.to_string(), passed_over.len())
    };
    assert_eq!(chosen(">=12.8"), (ToolkitSource::CudaCxx, "12.8.93".into(), 0));
    assert_eq!(
        chosen("11.8"),
        (ToolkitSource::CudaHome("CUDA_HOME"), "11.8.89".into(), 1)
    );
    assert_eq!(chosen("12.4"), (ToolkitSource::Path, "12.4.131".into(), 2));
    // The system owner's choice comes before the newest, and the same compiler is asked once only.
    let local = |name: &str| ToolkitSource::UsrLocal(machine.path(&format!("usr-local/{name}")));
    assert_eq!(chosen(">=12.9"), (local("cuda"), "12.9.86".into(), 3));
    assert_eq!(chosen("13.0"), (local("cuda-13.0"), "13.0.88".into(), 4));

    let names: Vec<String> = passed_over(&machine, &places, "13.5")
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        names,
        [
            "mine/nvcc",
            "home/bin/nvcc",
            "bin/nvcc",
            "usr-local/cuda/bin/nvcc",
            "usr-local/cuda-13.0/bin/nvcc"
        ]
    );
}

#[test]
fn a_compiler_is_named_by_path_or_by_name() {
    let machine = Machine::new();
    machine.cuda_program("bin/my-nvcc", "13.0.88");
    let places = Places {
        cudacxx: Some("my-nvcc".into()),
        ..machine.places()
    };
    let (found, _) = places.find(&requirement("13.0"));
    assert_eq!(found.unwrap().1.path, machine.path("bin/my-nvcc"));
}

#[test]
fn a_requirement_that_nothing_meets_installs_nothing_and_names_what_was_found() {
    let machine = Machine::new();
    machine.cuda_program("bin/nvcc", "13.0.88");
    machine.python("exit 1");
    let error = Toolkit::obtain(&requirement(">=12.0, <13.0"), &machine.provisioner()).unwrap_err();
    assert!(matches!(&error, ToolkitError::Unsatisfied { passed_over, .. } if passed_over.len() == 1));
    let text = error.to_string();
    assert!(text.contains("no CUDA toolkit >=12.0, <13.0 was found"), "{text}");
    assert!(text.contains("it is CUDA 13.0.88"), "{text}");
    assert_eq!(machine.pip_runs(), 0);
}

#[test]
fn a_found_toolkit_knows_its_libraries_its_assembler_and_its_options() {
    let machine = Machine::new();
    machine.cuda_program("home/bin/nvcc", "12.6.85");
    machine.cuda_program("home/bin/ptxas", "12.4.131");
    machine.write("home/lib64/libcudart_static.a", "");
    machine.script("bin/g++", "echo 'g++ 12.2.0'");
    machine.script("bin/cmake", "echo 'cmake version 4.0.3'");
    machine.script("bin/ninja", "echo 1.13.0");
    std::os::unix::fs::symlink(machine.path("home/bin/nvcc"), machine.path("bin/nvcc")).unwrap();

    let provisioner = machine.provisioner();
    let obtained = Toolkit::obtain(&requirement(">=12.4"), &provisioner).unwrap();
    let toolkit = obtained.toolkit;
    assert!(toolkit.describe().starts_with("CUDA 12.6.85 from PATH ("));
    let ptxas = toolkit.ptxas(provisioner.places()).unwrap();
    assert_eq!(ptxas.version, ToolkitVersion::new(12, 4).with_patch(131));

    let tools = BuildTools::obtain(ListNeeds::Family, &provisioner).unwrap();
    assert_eq!(tools.installed_because, None);
    let environment = toolkit.environment(&tools);
    let value = |name| {
        let (_, value) = environment.set.iter().find(|(key, _)| *key == name).unwrap();
        value.to_str().unwrap()
    };
    assert_eq!(Path::new(value("CUDAHOSTCXX")), machine.path("bin/g++"));
    assert!(value("LIBRARY_PATH").starts_with(machine.path("home/lib64").to_str().unwrap()));
    for variable in ["NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH"] {
        assert!(environment.removed.contains(&variable), "{variable}");
    }
    assert!(!environment.removed.contains(&"CMAKE_CUDA_COMPILER_LAUNCHER"));
    assert_eq!(machine.pip_runs(), 0);

    for (version, expected) in [("12.6.85", false), ("12.8.61", true), ("13.0.88", true)] {
        let toolkit = Toolkit {
            version: version.parse().unwrap(),
            ..toolkit.clone()
        };
        assert_eq!(toolkit.supports_compress_mode(), expected, "{version}");
    }
}

#[test]
fn a_missing_compiler_names_its_package() {
    let machine = Machine::new();
    let error = BuildTools::obtain(ListNeeds::Ordinary, &machine.provisioner()).unwrap_err();
    assert!(matches!(error, ToolkitError::Missing(Missing::CxxCompiler)));
    assert!(error.to_string().contains("apt install g++"));

    machine.script("bin/g++", "exit 0");
    let error = BuildTools::obtain(ListNeeds::Ordinary, &machine.provisioner()).unwrap_err();
    assert!(
        error.to_string().ends_with("g++ does not say its version"),
        "{error}"
    );

    let places = Places {
        cxx: Some("ccache g++".into()),
        ..machine.places()
    };
    let error = BuildTools::obtain(ListNeeds::Ordinary, &machine.provisioner_for(places)).unwrap_err();
    assert!(error.to_string().starts_with("CXX names no program"), "{error}");
}

#[test]
fn devices_are_what_the_driver_says() {
    let machine = Machine::new();
    let devices = |body: &str| {
        machine.script("bin/nvidia-smi", body);
        attached_devices(&machine.places()).map(|devices| {
            let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
            names.join(",")
        })
    };
    assert_eq!(devices("echo 12.1").unwrap(), "12.1");
    assert_eq!(devices("echo 12.0; echo 12.1").unwrap(), "12.0,12.1");
    let error = devices("echo 'NVIDIA-SMI has failed'; exit 9").unwrap_err();
    assert!(error.to_string().contains("NVIDIA-SMI has failed"), "{error}");
    let error = devices("echo '[Not Supported]'").unwrap_err();
    assert!(error.to_string().contains("found `[Not`"), "{error}");
}

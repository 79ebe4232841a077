//! Installing the pinned packages: whole or not at all, once, and again when something is missing.

use std::fs;
use std::path::Path;

use crate::support::{Machine, version_line};
use blockgate_toolkit::{
    BuildTools, ListNeeds, Oracles, Package, PackageForm, Toolkit, ToolkitError, ToolkitSource,
};

/// A `pip install` that lays out what the wheels of the oracles hold.
fn oracles_of(version: &str) -> String {
    format!(
        r#"mkdir -p "$target/nvidia/cu13/bin"
for tool in cuobjdump nvdisasm; do
  printf '#!/bin/sh\necho "{}"\n' > "$target/nvidia/cu13/bin/$tool"
  chmod +x "$target/nvidia/cu13/bin/$tool"
done"#,
        version_line(version)
    )
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_package_is_installed_once() {
    let machine = Machine::new();
    machine.python(&oracles_of("13.5.37"));
    let provisioner = machine.provisioner();
    let first = Oracles::obtain(&provisioner).unwrap();
    assert!(first.cuobjdump.is_file());
    assert_eq!(Oracles::obtain(&provisioner).unwrap(), first);
    assert_eq!(machine.pip_runs(), 1);
    assert_eq!(
        entries(&machine.path("target/toolkits")),
        ["oracles", "oracles.lock"]
    );
}

#[test]
fn half_an_installation_is_noticed_and_done_again() {
    type Damage = fn(&Machine);
    let damages: [(&str, Damage); 5] = [
        ("a program is gone", |machine| {
            fs::remove_file(machine.path("target/toolkits/oracles/nvidia/cu13/bin/nvdisasm")).unwrap();
        }),
        ("a program no longer runs", |machine| {
            machine.write("target/toolkits/oracles/nvidia/cu13/bin/cuobjdump", "");
        }),
        ("there is no stamp", |machine| {
            fs::remove_file(machine.path("target/toolkits/oracles/blockgate-stamp.txt")).unwrap();
        }),
        ("the stamp is cut short", |machine| {
            machine.write("target/toolkits/oracles/blockgate-stamp.txt", "0123");
        }),
        ("the pins have changed", |machine| {
            machine.write("ci/toolkits/oracles.txt", "other==1.0");
        }),
    ];
    for (what, damage) in damages {
        let machine = Machine::new();
        machine.python(&oracles_of("13.5.37"));
        let provisioner = machine.provisioner();
        Oracles::obtain(&provisioner).unwrap();
        damage(&machine);
        // What a killed run leaves behind.
        machine.write("target/toolkits/oracles.partial-x1/fresh/file", "");
        let oracles = Oracles::obtain(&provisioner).unwrap();
        assert_eq!(machine.pip_runs(), 2, "{what}");
        assert!(oracles.nvdisasm.is_file(), "{what}");
        assert_eq!(
            entries(&machine.path("target/toolkits")),
            ["oracles", "oracles.lock"],
            "{what}"
        );
        Oracles::obtain(&provisioner).unwrap();
        assert_eq!(machine.pip_runs(), 2, "{what}");
    }
}

#[test]
fn a_failed_installation_leaves_nothing_and_says_what_pip_said() {
    let machine = Machine::new();
    machine.python(
        "mkdir -p \"$target/nvidia\"; echo 'Collecting things'; \
         echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES' >&2; exit 1",
    );
    let error = Oracles::obtain(&machine.provisioner()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("cannot install cuobjdump and nvdisasm"), "{text}");
    assert!(text.contains("DO NOT MATCH THE HASHES"), "{text}");
    assert!(text.contains("PIP_FIND_LINKS"), "{text}");
    assert_eq!(entries(&machine.path("target/toolkits")), ["oracles.lock"]);
}

#[test]
fn a_failed_repair_keeps_what_was_there() {
    let machine = Machine::new();
    machine.python(&oracles_of("13.5.37"));
    Oracles::obtain(&machine.provisioner()).unwrap();
    machine.write("target/toolkits/oracles/blockgate-stamp.txt", "");
    machine.python("exit 1");
    Oracles::obtain(&machine.provisioner()).unwrap_err();
    assert!(
        machine
            .path("target/toolkits/oracles/nvidia/cu13/bin/cuobjdump")
            .is_file()
    );
}

#[test]
fn an_installation_that_does_not_work_is_refused() {
    let machine = Machine::new();
    machine.python("mkdir -p \"$target/nvidia/cu13/bin\"");
    let error = Oracles::obtain(&machine.provisioner()).unwrap_err().to_string();
    assert!(error.contains("nvidia/cu13/bin/cuobjdump is missing"), "{error}");

    // All the files of a toolkit, but another version than the pinned one.
    machine.python(&format!(
        r#"cu="$target/nvidia/cu13"
mkdir -p "$cu/bin" "$cu/nvvm/bin" "$cu/nvvm/libdevice" "$cu/include/crt" "$cu/include/cccl/cuda/std" "$cu/lib"
for file in bin/ptxas bin/fatbinary bin/cudafe++ nvvm/bin/cicc nvvm/libdevice/libdevice.10.bc \
  include/cuda_runtime.h include/crt/host_config.h include/cccl/cuda/std/version \
  lib/libcudart_static.a lib/libcudadevrt.a; do : > "$cu/$file"; done
printf '#!/bin/sh\necho "{}"\n' > "$cu/bin/nvcc"
chmod +x "$cu/bin/nvcc""#,
        version_line("13.0.48")
    ));
    let error = Toolkit::provisioned(&machine.provisioner())
        .unwrap_err()
        .to_string();
    assert!(error.contains("nvcc is 13.0.48, not 13.0.88"), "{error}");
    assert!(!machine.path("target/toolkits/cuda-13.0").exists());
}

#[test]
fn processes_that_install_at_once_do_it_once() {
    let machine = Machine::new();
    machine.python(&format!("sleep 0.2\n{}", oracles_of("13.5.37")));
    let provisioner = machine.provisioner();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| Oracles::obtain(&provisioner).unwrap());
        }
    });
    assert_eq!(machine.pip_runs(), 1);
}

#[test]
fn a_python_without_pip_makes_a_virtual_environment_for_it() {
    let machine = Machine::new();
    let runs = machine.path("pip-runs");
    machine.script(
        "bin/python3",
        &format!(
            r#"[ "$2" = venv ] || exit 1
mkdir -p "$3/bin"
cat > "$3/bin/python" <<'END'
#!/bin/sh
[ "$3" = --version ] && exit 0
echo run >> '{}'
while [ $# -gt 0 ]; do
  [ "$1" = --target ] && target=$2
  shift
done
{}
END
chmod +x "$3/bin/python""#,
            runs.display(),
            oracles_of("13.5.37")
        ),
    );
    Oracles::obtain(&machine.provisioner()).unwrap();
    assert_eq!(machine.pip_runs(), 1);
    // The environment itself is not kept.
    assert_eq!(
        entries(&machine.path("target/toolkits")),
        ["oracles", "oracles.lock"]
    );
}

#[test]
fn what_python_lacks_is_named_with_its_package() {
    let machine = Machine::new();
    let error = Oracles::obtain(&machine.provisioner()).unwrap_err().to_string();
    assert!(error.contains("apt install python3 python3-venv"), "{error}");
    machine.script("bin/python3", "exit 1");
    let error = Oracles::obtain(&machine.provisioner()).unwrap_err().to_string();
    assert!(error.contains("dnf install python3-pip"), "{error}");
}

#[test]
fn an_old_cmake_is_replaced_and_the_reason_given() {
    let machine = Machine::new();
    machine.script("bin/g++", "echo 'g++ 12.2.0'");
    machine.script("bin/ninja", "echo 1.11.1");
    machine.script("bin/cmake", "echo 'cmake version 3.31.6'");
    machine.python(
        r#"mkdir -p "$target/cmake/data/bin" "$target/bin"
printf '#!/bin/sh\necho cmake version 4.4.5\n' > "$target/cmake/data/bin/cmake"
printf '#!/bin/sh\necho 1.13.2\n' > "$target/bin/ninja"
chmod +x "$target/cmake/data/bin/cmake" "$target/bin/ninja""#,
    );
    let provisioner = machine.provisioner();
    let tools = BuildTools::obtain(ListNeeds::Ordinary, &provisioner).unwrap();
    assert_eq!(tools.cmake, machine.path("bin/cmake"));
    let tools = BuildTools::obtain(ListNeeds::Family, &provisioner).unwrap();
    assert_eq!(tools.cmake_version.to_string(), "4.4.5");
    let reason = tools.installed_because.unwrap();
    assert!(
        reason.contains("is CMake 3.31.6 and 3.31.10 or 4.0.2 or later"),
        "{reason}"
    );
}

#[test]
fn the_pinned_toolkit_is_taken_where_none_is_found() {
    let machine = Machine::new();
    machine.cuda_program("bin/nvcc", "12.4.131");
    machine.python("echo 'no network' >&2; exit 1");
    let provisioner = machine.provisioner();
    let error = Toolkit::obtain(&">=12.9".parse().unwrap(), &provisioner).unwrap_err();
    assert!(matches!(error, ToolkitError::Install { .. }), "{error}");
    assert!(error.to_string().contains("no network"), "{error}");
    let found = Toolkit::obtain(&"12.4".parse().unwrap(), &provisioner).unwrap();
    assert_eq!(found.toolkit.source, ToolkitSource::Path);
}

#[test]
fn wheels_are_kept_as_they_are_where_that_is_asked_for() {
    let machine = Machine::new();
    machine.write("ci/toolkits/wheels.txt", "a==1\n");
    machine.python(r#"[ -z "$target" ] && mkdir -p "$dest" && echo PK > "$dest/a-1-py3-none-any.whl""#);
    let package = Package {
        what: "a wheel",
        requirements: "ci/toolkits/wheels.txt",
        folder: "wheels",
        files: &["a-1-py3-none-any.whl"],
        download_megabytes: 1,
        form: PackageForm::Wheels,
        wheel_platform: Some("manylinux_2_35_x86_64"),
        macos: true,
        elsewhere: "",
    };
    let provisioner = machine.provisioner();
    let folder = provisioner.install(&package, |_| Ok(())).unwrap();
    assert_eq!(fs::read_to_string(folder.join(package.files[0])).unwrap(), "PK\n");
    provisioner.install(&package, |_| Ok(())).unwrap();
    assert_eq!(machine.pip_runs(), 1);
}

/// A pin without a hash for one platform would only be noticed there.
#[test]
fn every_pin_is_exact_and_has_a_hash_for_both_platforms() {
    let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/toolkits");
    for name in entries(&pins) {
        let text = fs::read_to_string(pins.join(&name)).unwrap();
        let mut packages = 0;
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        for pin in lines.chunks(3) {
            packages += 1;
            assert!(
                pin[0].contains("==") && pin[0].ends_with(" \\"),
                "{name}: {pin:?}"
            );
            assert_eq!(pin.len(), 3, "{name}: {pin:?}");
            for hash in &pin[1..] {
                let hash = hash.trim().trim_end_matches(" \\");
                let hex = hash.strip_prefix("--hash=sha256:").unwrap();
                assert!(hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
        assert!(packages >= 2, "{name}");
    }
}

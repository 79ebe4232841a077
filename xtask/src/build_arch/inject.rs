//! Extra architectures for single sources of a project that knows nothing of them.
//!
//! CMake reads the generated file at the project's first `project()` call. The file defers a function to the end of
//! the top folder, when every target of every folder exists, and appends the options to the sources of that name.

use std::fmt::Write as _;

use blockgate_arch::CodeKind;
use blockgate_archlist::ArchList;

/// Finds the sources by file name in every target, so that the project needs no change. The options go to the
/// source in the target's own folder, because source properties are local to a folder.
const FUNCTIONS: &str = r#"
function(blockgate_extend_source name)
  set(seen FALSE)
  set(folders "${CMAKE_SOURCE_DIR}")
  while(folders)
    list(POP_FRONT folders folder)
    get_property(below DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
    list(APPEND folders ${below})
    get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(sources ${target} SOURCES)
      get_target_property(source_folder ${target} SOURCE_DIR)
      foreach(source IN LISTS sources)
        get_filename_component(file "${source}" NAME)
        if(file STREQUAL name)
          get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${source_folder}")
          get_property(options SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY COMPILE_OPTIONS)
          # A source can be in several targets of one folder; the options are appended once.
          list(FIND options "${ARGV1}" there)
          if(there EQUAL -1)
            set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${ARGN})
          endif()
          set(seen TRUE)
        endif()
      endforeach()
    endforeach()
  endwhile()
  if(NOT seen)
    message(FATAL_ERROR "blockgate: the list's per_source names ${name}, and no target has a source of that name")
  endif()
endfunction()
"#;

/// The file for `list`.
pub(crate) fn cmake_code(list: &ArchList) -> String {
    let mut code = String::from("# Generated: extra architectures of single sources.\n");
    code.push_str(FUNCTIONS.trim_start());
    code.push_str("function(blockgate_extend_sources)\n");
    for extra in &list.per_source {
        let mut options = String::new();
        for entry in &extra.entries {
            if let Some(option) = generate_code(entry.targets()) {
                let _infallible = write!(options, " \"{option}\"");
            }
        }
        let _infallible = writeln!(code, "  blockgate_extend_source(\"{}\"{options})", extra.source);
    }
    code.push_str("endfunction()\n");
    code.push_str("cmake_language(DEFER DIRECTORY \"${CMAKE_SOURCE_DIR}\" CALL blockgate_extend_sources)\n");
    code
}

/// The option that CMake itself would write for one entry of a list.
fn generate_code(targets: impl Iterator<Item = blockgate_arch::Target>) -> Option<String> {
    let targets: Vec<_> = targets.collect();
    let arch = targets.first()?.arch;
    // CMake names PTX before machine code.
    let mut codes: Vec<String> = Vec::new();
    for kind in [CodeKind::Ptx, CodeKind::Cubin] {
        codes.extend(
            targets
                .iter()
                .filter(|target| target.kind == kind)
                .map(ToString::to_string),
        );
    }
    Some(format!(
        "--generate-code=arch={},code=[{}]",
        arch.compute(),
        codes.join(",")
    ))
}

#[cfg(test)]
mod tests {
    use blockgate_archlist::parse;

    #[test]
    fn options_are_those_that_cmake_writes() {
        let text = "why: x\nships: false\narchitectures: \"121\"\nper_source:\n  a.cu: \"121a-real;100a;90a-virtual\"\n";
        let code = super::cmake_code(&parse(text, "x.yaml").unwrap());
        let call = code
            .lines()
            .find(|line| line.contains("blockgate_extend_source(\"a.cu\""));
        assert_eq!(
            call.unwrap().trim(),
            "blockgate_extend_source(\"a.cu\" \"--generate-code=arch=compute_121a,code=[sm_121a]\" \
             \"--generate-code=arch=compute_100a,code=[compute_100a,sm_100a]\" \
             \"--generate-code=arch=compute_90a,code=[compute_90a]\")"
        );
    }
}

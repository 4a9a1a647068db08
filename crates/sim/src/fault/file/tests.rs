use warploom_sys::Function;

use super::*;

fn one(text: &str) -> Rule {
    let plan = Plan::from_toml(&format!("[[fault]]\n{text}")).expect("a plan");
    plan.rules()[0].clone()
}

#[test]
fn a_text_is_the_plan_that_rust_would_have_made() {
    use CUresult as Code;
    let written = Plan::from_toml(include_str!("../example.toml")).expect("a plan");
    let built = Plan::new()
        .driver_version(12020)
        .hide(Calls::named("cuMemPool*").expect("there are some"))
        .budget(Budget::Device { device: 0, bytes: 1 << 30 })
        .rule(
            Rule::on(Calls::named("cuMemAlloc*").expect("there are some")).nth(2).fail(Code::CUDA_ERROR_OUT_OF_MEMORY),
        )
        .rule(Rule::on(Class::Copy).on_device(0).from(3).every(2).times(4).fail_after(Code::CUDA_ERROR_UNKNOWN))
        .rule(
            Rule::on(Calls::named("cuMemcpyHtoDAsync").expect("there is one"))
                .on_thread_named("worker")
                .fail_work(Code::CUDA_ERROR_ILLEGAL_ADDRESS),
        )
        .rule(
            Rule::on(Calls::named("cuEventRecord").expect("there is one"))
                .on_context_id(1)
                .poison(Code::CUDA_ERROR_LAUNCH_FAILED),
        )
        .rule(Rule::on(Class::Sync).delay(Duration::from_millis(5)))
        .rule(Rule::on(Calls::all()).nth(500).lose_device(0));
    assert_eq!(written, built);
}

#[test]
fn a_code_is_known_by_either_name_and_by_its_number() {
    for code in ["\"CUDA_ERROR_OUT_OF_MEMORY\"", "\"OUT_OF_MEMORY\"", "2"] {
        assert_eq!(one(&format!("code = {code}")).action, Action::Fail { code: CUresult(2) });
    }
}

#[test]
fn without_a_name_a_rule_is_about_every_call() {
    let rule = one("code = 2");
    assert_eq!(rule.calls, Calls::all());
    assert!(rule.calls.contains(Function::cuInit));
}

#[test]
fn budgets_are_of_a_device_of_the_host_or_of_everything() {
    let plan = Plan::from_toml("[[budget]]\nbytes = 7\n[[budget]]\nhost = true\nbytes = \"1 KiB\"\n").expect("a plan");
    assert_eq!(plan.budgets, [Budget::All { bytes: 7 }, Budget::Host { bytes: 1024 }]);
}

#[test]
fn mistakes_are_reported_at_their_place_and_with_their_key() {
    for (text, expected) in [
        (
            "[[fault]]\ncal = \"cuInit\"\ncode = 2\n",
            "line 2, column 1: fault[0]: unknown key \"cal\", did you mean \"call\"?",
        ),
        ("[[faults]]\n", "line 1, column 3: unknown key \"faults\", did you mean \"fault\"?"),
        (
            "[[fault]]\ncall = \"cuMemAlok\"\ncode = 2\n",
            "line 2, column 8: fault[0].call: no driver function is called \"cuMemAlok\", did you mean \"cuMemAlloc\"?",
        ),
        ("[[fault]]\ncall = 7\ncode = 2\n", "line 2, column 8: fault[0].call: expected a string, found an integer"),
        (
            "[[fault]]\nclass = \"cpoy\"\ncode = 2\n",
            "line 2, column 9: fault[0].class: unknown class \"cpoy\", did you mean \"copy\"?",
        ),
        (
            "[[fault]]\ncode = \"OUT_OF_MEMRY\"\n",
            "line 2, column 8: fault[0].code: no status code is called \"OUT_OF_MEMRY\", did you mean \"OUT_OF_MEMORY\"?",
        ),
        ("[[fault]]\ncode = \"CUDA_SUCCESS\"\n", "line 2, column 8: fault[0].code: a fault cannot answer CUDA_SUCCESS"),
        ("[[fault]]\ncode = 0\n", "line 2, column 8: fault[0].code: code is 0, expected 1 to 65535"),
        ("[[fault]]\nnth = 0\ncode = 2\n", "line 2, column 7: fault[0].nth: nth is 0, expected 1 to"),
        ("[[fault]]\nnth = -1\ncode = 2\n", "line 2, column 7: fault[0].nth: nth is -1, expected 1 to"),
        (
            "[[fault]]\nnth = 1\ntimes = 2\ncode = 2\n",
            "line 3, column 9: fault[0].times: cannot stand beside \"nth\": that is one match alone",
        ),
        (
            "[[fault]]\ncall = \"cuInit\"\nclass = \"init\"\ncode = 2\n",
            "line 3, column 9: fault[0].class: cannot stand beside \"call\"",
        ),
        (
            "[[fault]]\ncode = 2\nwhen = \"befor\"\n",
            "line 3, column 8: fault[0].when: unknown time \"befor\", did you mean \"before\"?",
        ),
        (
            "[[fault]]\ncall = \"cuInit\"\n",
            "line 1, column 1: fault[0]: \"code\" is missing, expected a code, or poison, delay or lose",
        ),
        (
            "[[fault]]\ndelay = \"5\"\n",
            "line 2, column 9: fault[0].delay: delay \"5\" is not valid: expected a whole number",
        ),
        (
            "[[fault]]\ndelay = 5\n",
            "line 2, column 9: fault[0].delay: expected a time such as \"5 ms\", found an integer",
        ),
        ("[[fault]]\ndelay = \"2 h\"\n", "line 2, column 9: fault[0].delay: delay \"2 h\" is not valid"),
        ("[[fault]]\ndelay = \"4000 s\"\n", "fault[0].delay: a delay of 4000 s is too long, expected at most 3600 s"),
        (
            "[[fault]]\ndelay = \"99999999999999999999 s\"\n",
            "fault[0].delay: delay \"99999999999999999999 s\" is not valid",
        ),
        ("[[fault]]\npoison = 700\nlose = 0\n", "line 3, column 8: fault[0].lose: cannot stand beside \"poison\""),
        ("[[fault]]\npoison = 700\ncode = 2\n", "line 3, column 8: fault[0].code: cannot stand beside \"poison\""),
        ("[[fault]]\nlose = 0\nwhen = \"after\"\n", "line 3, column 8: fault[0].when: cannot stand beside \"lose\""),
        ("[[fault]]\nlose = 64\n", "line 2, column 8: fault[0].lose: device is 64, expected 0 to 63"),
        ("fault = 3\n", "line 1, column 9: fault: expected an array of tables"),
        ("[[budget]]\n", "line 1, column 1: budget[0]: \"bytes\" is missing, expected a size such as \"1 GiB\""),
        ("[[budget]]\nbytes = \"1 gib\"\n", "line 2, column 9: budget[0].bytes: size \"1 gib\" is not valid"),
        (
            "[[budget]]\ndevice = 0\nhost = true\nbytes = 1\n",
            "line 3, column 8: budget[0].host: cannot stand beside \"device\"",
        ),
        ("hide = \"cuInit\"\n", "line 1, column 8: hide: expected an array of function names, found a string"),
        ("hide = [\"cuInit\", \"cuImit\"]\n", "line 1, column 19: hide[1]: no driver function is called \"cuImit\""),
        ("driver = 12.2\n", "line 1, column 10: driver: expected a version in quotes such as \"12.2\", found a float"),
        ("driver = \"99.0\"\n", "line 1, column 10: driver: driver version 99000 is not supported"),
        ("[[fault]\n", "line 1, column"),
    ] {
        let error = Plan::from_toml(text).expect_err(text).to_string();
        assert!(error.starts_with(expected) || error.contains(expected), "{text}\n  {error}\n  {expected}");
    }
}

#[test]
fn a_file_is_named_in_what_is_wrong_with_it() -> std::io::Result<()> {
    let path = std::env::temp_dir().join(format!("warploom-plan-{}.toml", std::process::id()));
    std::fs::write(&path, "[[fault]]\ncode = \"NOTHING\"\n")?;
    let wrong = Plan::from_toml_file(&path).expect_err("no such code").to_string();
    std::fs::remove_file(&path)?;
    assert!(wrong.starts_with(&format!("{}:2:8: fault[0].code: ", path.display())), "{wrong}");
    let absent = Plan::from_toml_file(&path).expect_err("it is gone").to_string();
    assert!(absent.contains(&path.display().to_string()), "{absent}");
    Ok(())
}

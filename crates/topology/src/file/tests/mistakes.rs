//! One case per mistake, each with the whole message.

use super::super::super::Topology;

#[track_caller]
fn refused(text: &str, message: &str) {
    match Topology::from_toml(text) {
        Ok(topology) => panic!("accepted as {topology:?}"),
        Err(error) => assert_eq!(error.to_string(), message),
    }
}

#[test]
fn syntax() {
    refused("driver = ", "line 1, column 10: string values must be quoted, expected literal string");
    refused("driver = \"12.2\"\n[[device]\n", "line 2, column 10: unclosed array table, expected `]`");
    refused(
        "driver = \"12.2\"\nmodel = h100\n",
        "line 2, column 9: string values must be quoted, expected literal string, found \"h100\"",
    );
    refused("driver = \"12.2", "line 1, column 15: invalid basic string, expected `\"`");
    refused("\n\ndriver", "line 3, column 7: key with no value, expected `=`");
}

#[test]
fn a_key_given_twice() {
    refused("numa_nodes = 1\nnuma_nodes = 2\n", "line 2, column 1: duplicate key, found \"numa_nodes\"");
    refused("[peers]\nmax = 1\n[peers]\nmax = 2\n", "line 3, column 2: duplicate key, found \"peers\"");
}

#[test]
fn unknown_keys() {
    refused(
        "drivers = \"12.2\"\n",
        "line 1, column 1: unknown key \"drivers\", did you mean \"driver\"?; known are driver, preset, numa_nodes, \
         host_memory, device, peers, peer",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\n\n[[device]]\nmodel = \"h100\"\n  memroy = \"80 GiB\"\n",
        "line 6, column 3: device[1]: unknown key \"memroy\", did you mean \"memory\"?; known are model, ordinal, count, \
         name, memory, context_memory, memory_bandwidth, uuid, pci, numa_node, host_link, attributes",
    );
    refused("[peers]\nlimit = 3\n", "line 2, column 1: peers: unknown key \"limit\"; known are default, max");
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\nto = 1\nlatency = 3\n",
        "line 5, column 1: peer[0]: unknown key \"latency\", did you mean \"latency_ns\"?; known are from, to, both, \
         remove, kind, bandwidth, latency_ns, atomics, performance_rank, array_access",
    );
    refused(
        "[[device]]\nmodel = \"t4\"\nhost_link = { width = 16 }\n",
        "line 3, column 15: device[0].host_link: unknown key \"width\"; known are kind, bandwidth, latency_ns",
    );
    refused(
        "[[device]]\nmodel = \"t4\"\n[device.attributes]\nwarp_size = 32\nmultiprocesor_count = 132\n",
        "line 5, column 1: device[0].attributes: unknown key \"multiprocesor_count\", did you mean \
         \"multiprocessor_count\"?",
    );
}

#[test]
fn the_first_of_several_unknown_keys_is_named() {
    refused(
        "zeta = 1\nalpha = 2\n",
        "line 1, column 1: unknown key \"zeta\"; known are driver, preset, numa_nodes, host_memory, device, peers, peer",
    );
}

#[test]
fn wrong_types() {
    refused("driver = 12.2", "line 1, column 10: driver: expected a version in quotes such as \"12.2\", found a float");
    refused("preset = [\"h200\"]", "line 1, column 10: preset: expected a string, found an array");
    refused("numa_nodes = \"two\"", "line 1, column 14: numa_nodes: expected an integer, found a string");
    refused(
        "host_memory = true",
        "line 1, column 15: host_memory: expected a size such as \"80 GiB\" or a number of bytes, found a boolean",
    );
    refused(
        "[device]\nmodel = \"h100\"\n",
        "line 1, column 1: device: expected an array of tables, each with its [[header]], found a table",
    );
    refused("device = [1]", "line 1, column 11: device[0]: expected a table, found an integer");
    refused("peers = true", "line 1, column 9: peers: expected a table, found a boolean");
    refused(
        "[[device]]\nmodel = \"h100\"\nmemory = 80.5\n",
        "line 3, column 10: device[0].memory: expected a size such as \"80 GiB\" or a number of bytes, found a float",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\nmemory_bandwidth = 1979-05-27\n",
        "line 3, column 20: device[0].memory_bandwidth: expected a bandwidth such as \"450 GB/s\" or a number of bytes \
         per second, found a date or time",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\n[device.attributes]\nwarp_size = \"32\"\n",
        "line 4, column 13: device[0].attributes.warp_size: expected an integer, found a string",
    );
    refused(
        "peers.default = 3",
        "line 1, column 17: peers.default: expected a kind of link, \"none\", or a table that describes a link, found an \
         integer",
    );
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\nto = 1\nboth = 1\n",
        "line 5, column 8: peer[0].both: expected true or false, found an integer",
    );
    refused(
        "[[device]]\nordinal = \"every\"\n",
        "line 2, column 11: device[0].ordinal: expected an ordinal or \"all\", found a string",
    );
}

#[test]
fn sizes_and_bandwidths() {
    refused(
        "[[device]]\nmodel = \"h100\"\nmemory = \"80 GBB\"\n",
        "line 3, column 10: device[0].memory: size \"80 GBB\" is not valid: unknown unit \"GBB\", expected one of B, KB, \
         MB, GB, TB, KiB, MiB, GiB, TiB",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\nmemory = \"lots\"\n",
        "line 3, column 10: device[0].memory: size \"lots\" is not valid: expected a number and a unit such as \
         \"80 GiB\"",
    );
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\nto = 1\nbandwidth = \"50 GB\"\n",
        "line 5, column 13: peer[0].bandwidth: bandwidth \"50 GB\" is not valid: unknown unit \"GB\", expected one of \
         B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s",
    );
}

#[test]
fn numbers_out_of_range() {
    refused(
        "[[device]]\nmodel = \"h100\"\nmemory = \"2 TiB\"\n",
        "line 3, column 10: device[0].memory: memory is 2199023255552, expected 1 to 1099511627776",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\nmemory = -1\n",
        "line 3, column 10: device[0].memory: memory is -1, expected 1 to 1099511627776",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\nmemory = \"1 GiB\"\ncontext_memory = \"1 GiB\"\n",
        "line 4, column 18: device[0].context_memory: context_memory is 1073741824, expected 0 to 1073741823",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\ncount = 65\n",
        "line 3, column 9: device[0].count: count is 65, expected 1 to 64",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\ncount = 40\n[[device]]\nmodel = \"h100\"\ncount = 40\n",
        "line 4, column 1: device[1]: 80 devices are too many, a machine holds at most 64",
    );
    refused("numa_nodes = 0", "line 1, column 14: numa_nodes: numa_nodes is 0, expected 1 to 64");
    refused(
        "[[device]]\nmodel = \"h100\"\nnuma_node = 1\n",
        "line 3, column 13: device[0].numa_node: numa_node is 1, expected 0",
    );
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\nto = 1\nbandwidth = 0\n",
        "line 5, column 13: peer[0].bandwidth: bandwidth is 0, expected 1 to 1000000000000000",
    );
    refused("peers.max = 65", "line 1, column 13: peers.max: max is 65, expected 0 to 64");
    refused(
        "[[device]]\nmodel = \"h100\"\n[device.attributes]\nwarp_size = 64\n",
        "line 4, column 13: device[0].attributes.warp_size: warp_size is 64, expected 32",
    );
    refused(
        "[[device]]\nmodel = \"h100\"\nattributes.clock_rate = 3000000000\n",
        "line 3, column 25: device[0].attributes.clock_rate: clock_rate is 3000000000, expected -2147483648 to 2147483647",
    );
    refused(
        "numa_nodes = 999999999999999999999999999999999999999999",
        "line 1, column 14: numa_nodes: integer \"999999999999999999999999999999999999999999\" is not valid: it has too \
         many digits",
    );
}

#[test]
fn driver_versions() {
    refused(
        "driver = \"twelve\"",
        "line 1, column 10: driver: driver version \"twelve\" is not valid: expected major.minor such as \"12.2\"",
    );
    refused(
        "driver = \"10.2\"",
        "line 1, column 10: driver: driver version 10020 is not supported, expected 11040 (11.4) to 13040 (13.4), formed \
         as major * 1000 + minor * 10",
    );
}

#[test]
fn unknown_names() {
    refused(
        "preset = \"dgx_h100\"",
        "line 1, column 10: preset: unknown preset \"dgx_h100\", did you mean \"dgx-h100\"?; known are h200, dgx-h100, \
         dgx-h200, hgx-a100, hgx-a100-4, pcie-pair, pcie-t4, grace-hopper, gb200, laptop, asymmetric",
    );
    refused(
        "[[device]]\nmodel = \"h-100\"\n",
        "line 2, column 9: device[0].model: unknown device model \"h-100\", did you mean \"h100\"?; known are h200, h100, \
         h100-pcie, gh200, a100, a100-40, t4, gb200, laptop",
    );
    refused(
        "peers.default = \"nvlnk\"",
        "line 1, column 17: peers.default: unknown link kind \"nvlnk\", did you mean \"nvlink\"?; known are nvlink, \
         nvswitch, pcie, c2c",
    );
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\nto = 1\natomics = \"all\"\n",
        "line 5, column 11: peer[0].atomics: unknown kind of atomics \"all\"; known are none, partial, native",
    );
}

#[test]
fn missing_and_contradicting_keys() {
    refused(
        "[[device]]\nmemory = \"80 GiB\"\n",
        "line 1, column 1: device[0]: \"model\" is missing, expected the name of a device model, or \"ordinal\" to change \
         a device",
    );
    refused(
        "preset = \"h200\"\n[[device]]\nordinal = 0\nmodel = \"t4\"\n",
        "line 4, column 9: device[0].model: cannot stand beside \"ordinal\": \"model\" adds devices, \"ordinal\" changes \
         one that is there",
    );
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\n",
        "line 2, column 1: peer[0]: \"to\" is missing, expected the ordinal of the device whose memory is reached",
    );
    refused(
        "preset = \"pcie-t4\"\n[[peer]]\nfrom = 0\nto = 1\n",
        "line 2, column 1: peer[0]: \"kind\" is missing, expected a kind of link such as \"nvlink\", because there is no \
         link yet to change",
    );
    refused(
        "peers.default = { bandwidth = 1 }",
        "line 1, column 17: peers.default: \"kind\" is missing, expected a kind of link such as \"nvlink\"",
    );
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\nto = 1\nremove = true\nlatency_ns = 3\n",
        "line 6, column 14: peer[0].latency_ns: cannot stand beside \"remove\": a link that is taken away has no \
         properties",
    );
    refused(
        "preset = \"pcie-t4\"\n[[peer]]\nfrom = 0\nto = 1\nremove = true\n",
        "line 2, column 1: peer[0]: there is no link from device 0 to device 1 to remove",
    );
}

#[test]
fn devices_that_are_not_there() {
    refused(
        "preset = \"h200\"\n[[device]]\nordinal = 1\n",
        "line 3, column 11: device[0].ordinal: there is no device 1, the machine has 1 device",
    );
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\nto = 2\nkind = \"pcie\"\n",
        "line 4, column 6: peer[0].to: there is no device 2, the machine has 2 devices",
    );
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 1\nto = 1\nkind = \"pcie\"\n",
        "line 4, column 6: peer[0].to: device 1 cannot be its own peer",
    );
}

#[test]
fn things_said_twice() {
    refused(
        "preset = \"pcie-pair\"\n[[peer]]\nfrom = 0\nto = 1\nboth = true\n\n[[peer]]\nfrom = 1\nto = 0\n",
        "line 7, column 1: peer[1]: already given on line 2",
    );
    refused(
        "[[device]]\nmodel = \"t4\"\n[device.attributes]\nregisters_per_block = 1\nmax_registers_per_block = 2\n",
        "line 5, column 27: device[0].attributes.max_registers_per_block: already given on line 4",
    );
    refused(
        "[[device]]\nmodel = \"t4\"\npci = \"0000:02:00\"\n[[device]]\nmodel = \"t4\"\npci = \"0000:02:00\"\n",
        "line 4, column 1: device[1]: devices 0 and 1 have the same PCI address 0000:02:00",
    );
    refused(
        "preset = \"pcie-pair\"\n[[device]]\nordinal = \"all\"\nuuid = \"00000000-0000-0000-0000-000000000000\"\n",
        "line 4, column 8: device[0].uuid: cannot be the same for 2 devices",
    );
}

#[test]
fn identities() {
    refused(
        "[[device]]\nmodel = \"t4\"\npci = \"1b\"\n",
        "line 3, column 7: device[0].pci: PCI address \"1b\" is not valid: expected domain:bus:device such as \
         \"0000:1b:00\"",
    );
    refused(
        "[[device]]\nmodel = \"t4\"\nuuid = \"GPU-1\"\n",
        "line 3, column 8: device[0].uuid: UUID \"GPU-1\" is not valid: expected \"GPU-\" and groups of 8, 4, 4, 4 and \
         12 hexadecimal digits",
    );
    refused(
        "[[device]]\nmodel = \"t4\"\nname = \"\"\n",
        "line 3, column 8: device[0].name: device name \"\" is not valid: 0 bytes, expected 1 to 255",
    );
    refused(
        "[[device]]\nmodel = \"t4\"\nattributes.pci_bus_id = 3\n",
        "line 3, column 25: device[0].attributes.pci_bus_id: attribute pci_bus_id follows from pci and cannot be set \
         itself",
    );
}

#[test]
fn conflicts_between_devices_are_reported_at_the_device() {
    refused(
        "numa_nodes = 1\npreset = \"pcie-t4\"\n",
        "line 2, column 10: preset: device 2: numa_node is 1, expected 0",
    );
}

#[test]
fn columns_count_characters() {
    refused(
        "[[device]]\nmodel = \"t4\"\nhost_link = { kind = \"pcié\" }\n",
        "line 3, column 22: device[0].host_link.kind: unknown link kind \"pcié\", did you mean \"pcie\"?; known are \
         nvlink, nvswitch, pcie, c2c",
    );
    refused(
        "[[device]]\nmodel = \"t4\"\nhost_link = { \"é\" = 1, kind = 3 }\n",
        "line 3, column 15: device[0].host_link: unknown key \"é\"; known are kind, bandwidth, latency_ns",
    );
    refused(
        "peers = { default = { kind = \"nvlink\", atomics = \"é\" }, max = 99 }\n",
        "line 1, column 50: peers.default.atomics: unknown kind of atomics \"é\"; known are none, partial, native",
    );
}

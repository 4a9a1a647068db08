//! Results of kernels, compared with plain Rust.
//!
//! The bodies know nothing of where they run: that is `crate::machine`, of which there are two. Here it is
//! the interpreter alone; `crates/warploom/tests/fixtures` compiles the same files and runs them through the
//! core, on the simulator and on a GPU.

pub(crate) mod inputs;
pub(crate) mod shape;
pub(crate) mod texts;

pub(crate) mod atomics;
pub(crate) mod bits;
pub(crate) mod bulk;
pub(crate) mod calls;
pub(crate) mod clusters;
pub(crate) mod convert;
pub(crate) mod divergence;
pub(crate) mod fragments;
pub(crate) mod groups;
pub(crate) mod half;
pub(crate) mod ieee;
pub(crate) mod libm;
pub(crate) mod matrices;
pub(crate) mod memory;
pub(crate) mod primitives;
pub(crate) mod reduce;
pub(crate) mod standard;
pub(crate) mod stencil;
pub(crate) mod system;
pub(crate) mod tensor;
pub(crate) mod vector;
pub(crate) mod warp;

/// Calls a macro with every body, by module. One that is missing here is dead code, which does not pass.
macro_rules! for_each_body {
    ($callback:ident) => {
        $callback! {
            atomics {
                words_are_changed_by_every_operation
                signed_extremes_and_longs
                floats_are_added_one_after_the_other
                loops_of_compare_and_swap_count_in_half_words
                shared_memory_has_atomics_too
                lanes_that_fight_for_a_lock_all_get_it
                everybody_gets_a_ticket
                histograms_count_every_byte
            }
            bits {
                words_are_counted_shifted_and_permuted
                longs_are_multiplied_divided_and_carried
                quotients_of_short_types_are_of_those_types
                loops_of_shifts_are_a_generator
            }
            bulk {
                tiles_are_fetched_ahead_of_those_that_add_them
                shared_memory_is_sent_in_groups
                one_copy_reaches_both_blocks_of_a_cluster
                blocks_of_a_cluster_exchange_and_add_tiles
                counts_of_blocks_are_added_as_a_whole
                registers_are_stored_and_added_in_the_other_block
            }
            calls {
                structs_are_passed_by_value
                functions_take_and_return_structs
                recursion_differs_by_lane
                lanes_call_different_functions_through_a_table
                virtual_functions_are_found_through_local_objects
                arrays_of_a_thread_are_its_own
                debug_builds_run_the_same
                many_values_alive_and_bounds_of_a_launch
            }
            clusters {
                bulk_copies_are_counted_by_bytes
                blocks_have_the_shape_that_a_kernel_requires_and_are_clusters_of_their_own
                neighbours_of_a_cluster_read_each_other
                kernels_may_let_the_next_one_start_early
            }
            convert {
                integers_become_every_type
                floats_in_range_become_every_type
                floats_become_integers_in_four_directions
                integers_become_floats_in_four_directions
            }
            divergence {
                jumps_by_table_go_sixteen_ways
                an_interpreter_in_a_kernel_takes_every_lane_its_own_way
                lanes_meet_again_behind_a_loop_of_different_lengths
                pixels_that_escape_leave_their_warp_early
            }
            fragments {
                fragments_multiply_halves
                fragments_multiply_bytes
                blocks_multiply_halves_through_shared_memory
                warps_multiply_tall_matrices_of_bytes
                lanes_hold_the_elements_that_hardware_gives_them
                fragments_multiply_parts_of_bytes
                singles_are_rounded_to_be_multiplied_by_fragments
                doubles_are_fused_one_after_the_other_by_fragments
                brain_floats_are_multiplied_by_wide_fragments
            }
            groups {
                groups_reduce_and_scan_integers
                groups_reduce_floats
                threads_that_are_alike_find_each_other
                groups_copy_beside_their_threads
                one_thread_of_a_group_is_enough
            }
            half {
                halves_are_multiplied_and_added_with_one_rounding
                pairs_of_halves_are_two_at_a_time
                singles_become_halves_and_come_back
                halves_become_integers_in_four_directions
                functions_of_halves_are_near
                pairs_are_added_atomically
                brain_floats_have_arithmetic_of_their_own
            }
            ieee {
                singles_round_to_nearest_as_the_processor_does_and_enclose_it
                doubles_round_to_nearest_as_the_processor_does_and_enclose_it
                comparisons_know_what_is_no_number
            }
            libm {
                functions_of_singles_are_within_their_bounds
                fast_functions_of_singles_are_near
                functions_of_two_singles_are_within_their_bounds
                functions_of_doubles_are_within_their_bounds
            }
            matrices {
                tiles_in_shared_memory_multiply_matrices
                shared_memory_of_the_launch_multiplies_matrices
                integers_wrap_and_sizes_may_be_odd
                transposes_go_through_a_padded_tile
            }
            memory {
                constants_hold_what_the_text_says
                variables_hold_addresses_of_others
                variables_outlive_a_kernel
                shared_memory_of_the_launch_turns_a_row_around
                one_pointer_leads_to_every_space
                warps_hand_over_by_flags_and_by_named_barriers
            }
            primitives {
                blocks_sort_and_sum_with_the_library
                warps_sum_with_the_library
            }
            reduce {
                sums_by_halving_in_shared_memory
                sums_by_shuffles_and_one_addition_a_block
                every_lane_gets_the_largest
                the_last_block_adds_up_what_the_others_left
                a_dot_product_in_double_precision
                barriers_count
                running_sums_of_blocks_and_warps
                kept_elements_stay_in_order_within_a_warp
                tiles_of_eight_add_up
                all_blocks_of_a_grid_wait_for_each_other
            }
            standard {
                barriers_of_the_library_let_rounds_follow_each_other
                pipelines_of_the_library_fetch_ahead
                semaphores_and_latches_of_the_library_order_warps
                references_of_the_library_are_atomic_in_every_order
            }
            stencil {
                jacobi_takes_the_mean_of_four_neighbours
                a_row_of_seven_is_summed_over_the_edges_of_blocks
                heat_flows_in_three_dimensions
                bodies_attract_each_other
                rows_are_normalised
            }
            system {
                threads_print
                assertions_that_hold_are_quiet
                traps_that_are_not_met_stop_nothing
                memory_is_read_where_the_argument_says
                lines_of_the_source_do_not_change_what_is_computed
                threads_have_a_heap
                clocks_go_on_and_places_are_told
                a_latch_that_is_open_lets_a_kernel_pass
                conditions_that_are_not_set_need_no_graph
            }
            tensor {
                a_warp_multiplies_matrices_of_every_type
                a_warp_multiplies_doubles
                a_warp_multiplies_short_matrices
                copies_beside_the_threads_arrive_before_they_are_waited_for
                barriers_in_memory_let_rounds_follow_each_other
                matrices_are_spread_over_lanes
            }
            vector {
                saxpy_is_a_fused_multiply_add_of_each_element
                any_number_of_threads_does_all_elements
                sums_of_every_type
                vectors_are_read_and_written_whole
            }
            warp {
                votes_are_of_the_whole_warp
                shuffles_take_values_of_other_lanes
                lanes_with_equal_values_find_each_other
                reductions_of_a_warp_are_one_instruction
            }
        }
    };
}
pub(crate) use for_each_body;

/// Calls a macro with every body of kernels that only hardware runs, by module, with the text and the kernel
/// that are refused elsewhere. These bodies are where hardware is, in
/// `crates/warploom/tests/fixtures/hardware`.
macro_rules! for_each_body_of_hardware {
    ($callback:ident) => {
        $callback! {
            textures {
                textures_are_read_at_the_middle_of_pixels: "compute_75/textures", "texture_scale"
                surfaces_are_changed_in_place: "compute_75/textures", "surface_add"
            }
        }
    };
}
pub(crate) use for_each_body_of_hardware;

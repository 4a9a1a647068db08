//! Rules of the driver functions for libraries, linking and launches.

macro_rules! code {
    ($next:ident $($then:ident)*; $($rows:tt)*) => {
        $next! {
            $($then)*; $($rows)*
            //                                                   before cuInit
            //                                                   |     in a host function
            //                                                   |     |     in a capture
            //                                                   |     |     |     finds functions
            //                                                   |     |     |     |     on the current context
            // library
            cuModuleLoad                                         no    no    yes   no    yes   [Create Module]
            cuModuleLoadData                                     no    no    yes   no    yes   [Create Module]
            cuModuleLoadDataEx                                   no    no    yes   no    yes   [Create Module]
            cuModuleLoadFatBinary                                no    no    yes   no    yes   [Create Module]
            cuModuleUnload                                       no    no    no    no    yes   [Release Module]
            cuModuleGetFunction                                  no    no    yes   no    yes   [Query Module]
            cuModuleGetGlobal                                    no    no    yes   no    yes   [Query Module]
            cuModuleGetGlobal_v2                                 no    no    yes   no    yes   [Query Module]
            cuModuleGetFunctionCount                             no    no    yes   no    yes   [Query Module]
            cuModuleEnumerateFunctions                           no    no    yes   no    yes   [Module]
            cuLibraryLoadData                                    no    no    yes   no    yes   [Create Module]
            cuLibraryLoadFromFile                                no    no    yes   no    yes   [Create Module]
            cuLibraryUnload                                      no    no    no    no    yes   [Release Module]
            cuLibraryGetKernel                                   no    no    yes   no    yes   [Query Module]
            cuLibraryGetModule                                   no    no    yes   no    yes   [Query Module]
            cuLibraryGetKernelCount                              no    no    yes   no    yes   [Query Module]
            cuLibraryEnumerateKernels                            no    no    yes   no    yes   [Module]
            cuKernelGetFunction                                  no    no    yes   no    yes   [Query Module]
            cuKernelGetLibrary                                   no    no    yes   no    yes   [Query Module]
            cuLibraryGetGlobal                                   no    no    yes   no    yes   [Query Module]
            cuLibraryGetManaged                                  no    no    yes   no    yes   [Query Module]
            cuKernelGetAttribute                                 no    no    yes   no    yes   [Query Module]
            cuKernelSetAttribute                                 no    no    yes   no    yes   [Module]
            cuKernelSetCacheConfig                               no    no    yes   no    yes   [Module]
            cuKernelGetName                                      no    no    yes   no    yes   [Query Module]
            cuKernelGetParamInfo                                 no    no    yes   no    yes   [Query Module]
            cuKernelGetParamCount                                no    no    yes   no    yes   [Query Module]
            cuLibraryGetUnifiedFunction                          no    no    yes   no    yes   [Query Module]
            // link
            cuLinkCreate                                         no    no    yes   no    yes   [Create Module]
            cuLinkCreate_v2                                      no    no    yes   no    yes   [Create Module]
            cuLinkAddData                                        no    no    yes   no    yes   [Module]
            cuLinkAddData_v2                                     no    no    yes   no    yes   [Module]
            cuLinkAddFile                                        no    no    yes   no    yes   [Module]
            cuLinkAddFile_v2                                     no    no    yes   no    yes   [Module]
            cuLinkComplete                                       no    no    yes   no    yes   [Module]
            cuLinkDestroy                                        no    no    yes   no    yes   [Release Module]
            // launch
            cuFuncGetAttribute                                   no    no    yes   no    yes   [Query Launch]
            cuFuncSetAttribute                                   no    no    yes   no    yes   [Launch]
            cuFuncSetCacheConfig                                 no    no    yes   no    yes   [Launch]
            cuFuncGetName                                        no    no    yes   no    yes   [Query Launch]
            cuFuncGetParamInfo                                   no    no    yes   no    yes   [Query Launch]
            cuFuncGetParamCount                                  no    no    yes   no    yes   [Query Launch]
            cuFuncIsLoaded                                       no    no    yes   no    yes   [Create Launch]
            cuFuncLoad                                           no    no    yes   no    yes   [Create Launch]
            cuLaunchKernel                                       no    no    yes   no    yes   [Launch]
            cuLaunchKernelEx                                     no    no    yes   no    yes   [Launch]
            cuLaunchCooperativeKernel                            no    no    yes   no    yes   [Launch]
            cuOccupancyMaxActiveBlocksPerMultiprocessor          no    no    yes   no    yes   [Launch]
            cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags no    no    yes   no    yes   [Launch]
            cuOccupancyMaxPotentialBlockSize                     no    no    yes   no    yes   [Launch]
            cuOccupancyMaxPotentialBlockSizeWithFlags            no    no    yes   no    yes   [Launch]
            cuOccupancyAvailableDynamicSMemPerBlock              no    no    yes   no    yes   [Launch]
            cuOccupancyMaxPotentialClusterSize                   no    no    yes   no    yes   [Launch]
            cuOccupancyMaxActiveClusters                         no    no    yes   no    yes   [Launch]
            cuFuncGetModule                                      no    no    yes   no    yes   [Query Launch]
            cuFuncSetBlockShape                                  no    no    yes   no    yes   [Launch]
            cuFuncSetSharedMemConfig                             no    no    yes   no    yes   [Launch]
            cuFuncSetSharedSize                                  no    no    yes   no    yes   [Launch]
            cuLaunch                                             no    no    no    no    yes   [Launch]
            cuLaunchCooperativeKernelMultiDevice                 no    no    yes   no    yes   [Launch]
            cuLaunchGrid                                         no    no    no    no    yes   [Launch]
            cuLaunchGridAsync                                    no    no    no    no    yes   [Launch]
            cuParamSetSize                                       no    no    yes   no    yes   [Launch]
            cuParamSetf                                          no    no    yes   no    yes   [Launch]
            cuParamSeti                                          no    no    yes   no    yes   [Launch]
            cuParamSetv                                          no    no    yes   no    yes   [Launch]
        }
    };
}

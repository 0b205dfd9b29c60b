// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// AXI4 channel and bundle types for one ID and data width:
//   `GW_AXI_TYPEDEF(name, IdWidth, DataWidth)
// defines name_ax_t, name_w_t, name_b_t, name_r_t, name_req_t (master to slave) and name_rsp_t (slave to master).
`ifndef GW_AXI_TYPEDEF_SVH_
`define GW_AXI_TYPEDEF_SVH_

`define GW_AXI_TYPEDEF(__name, __id_width, __data_width) \
  typedef struct packed {                     \
    logic [(__id_width)-1:0] id;              \
    logic [63:0]             addr;            \
    logic [7:0]              len;             \
    logic [2:0]              size;            \
    logic [1:0]              burst;           \
    logic                    lock;            \
    logic [3:0]              cache;           \
    logic [2:0]              prot;            \
    logic [3:0]              qos;             \
    logic [3:0]              region;          \
  } __name``_ax_t;                            \
  typedef struct packed {                     \
    logic                        last;        \
    logic [(__data_width)/8-1:0] strb;        \
    logic [(__data_width)-1:0]   data;        \
  } __name``_w_t;                             \
  typedef struct packed {                     \
    logic [(__id_width)-1:0] id;              \
    logic [1:0]              resp;            \
  } __name``_b_t;                             \
  typedef struct packed {                     \
    logic [(__id_width)-1:0]   id;            \
    logic [1:0]                resp;          \
    logic                      last;          \
    logic [(__data_width)-1:0] data;          \
  } __name``_r_t;                             \
  typedef struct packed {                     \
    __name``_ax_t aw;                         \
    logic         aw_valid;                   \
    logic         w_valid;                    \
    logic         b_ready;                    \
    __name``_ax_t ar;                         \
    logic         ar_valid;                   \
    logic         r_ready;                    \
    __name``_w_t  w;                          \
  } __name``_req_t;                           \
  typedef struct packed {                     \
    logic         aw_ready;                   \
    logic         w_ready;                    \
    __name``_b_t  b;                          \
    logic         b_valid;                    \
    logic         ar_ready;                   \
    logic         r_valid;                    \
    __name``_r_t  r;                          \
  } __name``_rsp_t;

`endif

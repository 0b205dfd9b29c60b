/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included before every file of a card (-include), for the sake of Verilator's runtime: what a model would print, such as the
 * text of a failed assertion, goes to verilator_print.cpp, which keeps it for gw_card_error().
 */
#ifndef GW_VERILATOR_PRINT_H_
#define GW_VERILATOR_PRINT_H_

extern int gw_model_print(const char* format, ...) __attribute__((format(printf, 1, 2)));

#define VL_PRINTF gw_model_print

#endif /* GW_VERILATOR_PRINT_H_ */

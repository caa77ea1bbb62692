// The sections. Each is measured by a process of its own (limits.cu), and most have a file of their own name.
#pragma once

void info_section();
void read_section();
void launch_section();
void chain_section();
void sync_section();
void rates_section();
void mix_section();
void ring_section();
void copy_section();
void while_section();
void split_q4_section();
void split_q8_section();
void split_bf16_section();
void wgmma_section();
void attention_section();

/** What an XID error of a GPU asks for: start the program again, reset the GPU, or replace it (`node.repair`). */
export type XidAction = 'restart' | 'reset' | 'service'

/** XID errors of NVIDIA's catalogue for Ampere and later, with the action its health checks imply. */
export const XIDS: Readonly<Record<number, { readonly title: string; readonly action: XidAction }>> = {
  13: { title: 'graphics engine exception', action: 'restart' },
  31: { title: 'memory page fault', action: 'restart' },
  43: { title: 'the program was stopped', action: 'restart' },
  45: { title: 'preemptive clean-up', action: 'restart' },
  46: { title: 'the GPU stopped processing', action: 'reset' },
  48: { title: 'double-bit ECC error', action: 'reset' },
  63: { title: 'row remapping recorded', action: 'reset' },
  64: { title: 'row remapping failed', action: 'service' },
  74: { title: 'NVLink error', action: 'reset' },
  79: { title: 'the GPU has fallen off the bus', action: 'service' },
  94: { title: 'contained ECC error', action: 'restart' },
  95: { title: 'uncontained ECC error', action: 'reset' },
  119: { title: 'GSP timeout', action: 'reset' },
  120: { title: 'GSP error', action: 'reset' },
}

/** The records of the fleet: pools of nodes. */
import * as z from 'zod'
import { filledText, withExample } from './examples.ts'
import { realGpu } from './gpu-config.ts'

/** A pool of nodes in one zone. A group of equal nodes is named `<prefix>-0`, `<prefix>-1` and so on. */
export const NodePool = z.strictObject({
  name: filledText('pair'),
  zone: filledText('east-a'),
  market: z.enum(['on-demand', 'spot']).default('on-demand'),
  nodes: z
    .array(
      z.strictObject({
        prefix: withExample(z.string().regex(/^[a-z0-9-]+$/, 'text of small letters, digits and dashes'), 'l4'),
        gpu: realGpu,
        gpus_per_node: z.int().min(1).max(16),
        /** Nodes at the world's epoch. */
        count: withExample(z.int().min(0), 2),
        /**
         * The group grows to `max` if instances wait, and shrinks to `min` if nodes are empty. If it has fewer nodes
         * than `min`, it is refilled. Default of both: `count`.
         */
        max: z.int().min(0).optional(),
        min: z.int().min(0).optional(),
        /** GPUs of each node that other customers of the cloud hold permanently. */
        occupied: z.int().min(0).default(0),
        /**
         * Whether the node has the provider's own serving image already. A `container_image` of a deployment is never
         * cached.
         */
        image_cached: z.boolean().default(false),
        /** Hub repositories whose weights the node has already. */
        weights_cached: z.array(z.string()).default([]),
      }),
    )
    .min(1),
})
export type NodePool = z.infer<typeof NodePool>

export const Fleet = z.strictObject({ pools: z.array(NodePool) })
export type Fleet = z.infer<typeof Fleet>

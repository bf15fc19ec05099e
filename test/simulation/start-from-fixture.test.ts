import { describe, expect, test } from 'vitest'
import { createSimulator } from '../../src/index.ts'
import { FIXTURE_NAMES } from '../../src/simulator/options.ts'
import { stage } from './small-world.ts'

describe('a fixture that can be no world', () => {
  test.each([
    [
      {
        deployments: [{ model_name: 'acme/x', status: 'running', gpu: 'L4-24GB', weights: { repo: 'acme/chat-405b' } }],
      },
      /with\.deployments: \$\[0\] \(acme\/x\): it cannot be running: CUDA out of memory.*Give it more GPUs/s,
    ],
    [
      { deployments: [{ model_name: 'acme/x', status: 'running', gpu: 'A100-80GB' }] },
      /with\.deployments: \$\[0\] \(acme\/x\): no node has 1 free A100-80GB/,
    ],
    [
      {
        files: [{ id: 'file_1', filename: 'in.jsonl', created_at: 1_767_000_000, content: '{"custom_id":"a"}\nx\n' }],
        batches: [{ id: 'batch_1', input_file_id: 'file_1', status: 'in_progress', created_at: 1_767_200_000 }],
      },
      /with\.batches: \$\[0\] \(batch_1\): its input file_1 cannot be run: line 1 of it: method is not POST\. Correct the file\./,
    ],
  ] as const)('is refused, and says what and where: %#', (patch, message) => {
    expect(() => stage([{}], {}, { with: patch as never })).toThrow(message)
  })
})

// An installed package starts its worlds without a validation of these lines.
test.each(FIXTURE_NAMES)('each line of a completed batch of the world %s is valid', fixtures => {
  const { world } = createSimulator({ fixtures })
  const failed = world.batches.list().map(batch => batch.toRecord().request_counts?.failed ?? 0)
  expect(failed.filter(count => count > 0)).toEqual([])
})

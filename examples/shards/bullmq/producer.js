/** Enqueues the shards, waits until the workers have played them, and prints what `merge` says. */
import { FlowProducer, QueueEvents } from 'bullmq'
import { connection, QUEUE } from './queue.js'

const SHARDS = 4
const SEEDS = '1..40'
/** A shard whose file is locked is tried again later. If it fails for good, the merge says what is missing. */
const opts = { attempts: 5, backoff: { type: 'exponential', delay: 1000 }, ignoreDependencyOnFailure: true }

const producer = new FlowProducer({ connection })
const events = new QueueEvents(QUEUE, { connection })
const children = Array.from({ length: SHARDS }, (_, i) => {
  const args = ['explore', 'client.js', '--seeds', SEEDS, '--shard', `${i + 1}/${SHARDS}`, '--out', 'results']
  return { name: 'shard', queueName: QUEUE, data: { args }, opts }
})
// BullMQ starts the parent when all of its children have ended.
const { job } = await producer.add({ name: 'merge', queueName: QUEUE, data: { args: ['merge', 'results'] }, children })
const { code, output } = await job.waitUntilFinished(events)
process.stdout.write(output)
process.exitCode = code
await Promise.all([producer.close(), events.close()])

/** Runs one command of the queue after the other. Start as many workers as you like, with the same folder `results`. */
import { spawn } from 'node:child_process'
import { Worker } from 'bullmq'
import { connection, QUEUE } from './queue.js'

const worker = new Worker(
  QUEUE,
  async ({ name, data: { args } }) => {
    const { code, output } = await run(args)
    process.stdout.write(output)
    // Exit code 1 means findings, which the merge reports.
    if (name === 'shard' && code !== 0 && code !== 1) throw new Error(`Exit code ${code}: ${output}`)
    return { code, output }
  },
  // A worker that is killed loses its job after this time. The defaults are 30 seconds each.
  { connection, lockDuration: 5000, stalledInterval: 2000 },
)
worker.on('stalled', id => console.log(`Job ${id} goes to another worker`))
worker.on('error', error => console.error(error.message))
process.on('SIGTERM', () => worker.close())

function run(args) {
  const child = spawn('npx', ['modelhost-sim', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, output }))
  })
}

/** The command line as a newcomer meets it: in a process of its own. */
import { execFile, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { main } from '../../src/cli/index.ts'

const run = promisify(execFile)
const BIN = 'bin/modelhost-sim.js'
const environment = { ...process.env, NO_COLOR: '1' }

/** Runs a command to its end. */
async function end(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [BIN, ...args], { env: environment })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

const servers: ReturnType<typeof spawn>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.kill('SIGKILL')
})

/** Starts a server and waits for its banner. */
async function start(args: string[] = [], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [BIN, ...args], { env: { ...environment, ...env } })
  servers.push(child)
  let out = ''
  let err = ''
  child.stderr.on('data', chunk => {
    err += String(chunk)
  })
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const banner = await new Promise<string>((found, failed) => {
    child.stdout.on('data', chunk => {
      out += String(chunk)
      if (out.includes('/_sim/clock/advance')) found(out)
    })
    ended.then(code => failed(new Error(`it ended with ${code}: ${out}${err}`)))
  })
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)![0]
  return { child, banner, url, ended, stderr: () => err }
}

describe('serve', () => {
  test('prints a banner whose curl lines work as printed', async () => {
    const { banner, url } = await start(['--port', '0'])
    expect(banner).toContain(`modelhost-sim 0.1.0  ${url}`)
    for (const part of ['sim_default_token', 'fixtures default, seed 1', 'scaled, 60 simulated seconds a second']) {
      expect(banner).toContain(part)
    }
    const lines = banner.trim().split('\n')
    expect(lines.length).toBeLessThanOrEqual(12)
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
    const curls = lines.filter(line => line.startsWith('curl '))
    expect(curls).toHaveLength(2)
    expect(curls[0]).toContain('Authorization: Bearer sim_default_token')
    const answers = await Promise.all(curls.map(line => run('sh', ['-c', `${line} -sS --fail`])))
    expect(JSON.parse(answers[0]!.stdout)).toEqual(expect.arrayContaining([expect.objectContaining({ type: 'llm' })]))
    expect(JSON.parse(answers[1]!.stdout)).toHaveProperty('events')
  })

  test('takes flags, and the environment where a flag is missing', async () => {
    const { banner, url } = await start(['--port', '0', '--clock', 'manual'], {
      MODELHOST_SIM_FIXTURES: 'empty',
      MODELHOST_SIM_SEED: 'from-env',
      MODELHOST_SIM_CLOCK: 'scaled',
    })
    expect(banner).toContain('fixtures empty, seed from-env')
    expect(banner).toContain('manual')
    const list = await fetch(`${url}/deploy/list`, { headers: { authorization: 'Bearer sim_empty_token' } })
    expect(await list.json()).toEqual([])
  })

  test('fills up with models and deployments from the seed', async () => {
    const { url } = await start(['--port', '0', '--models', '120', '--deployments', '60'])
    const headers = { authorization: 'Bearer sim_default_token' }
    const models = (await (await fetch(`${url}/models/deployment/list`, { headers })).json()) as { private: number }[]
    expect(models.filter(model => model.private === 0)).toHaveLength(120)
    const every = '?status=initializing,downloading,deploying,running,stopped,failed,deleted'
    expect(await (await fetch(`${url}/deploy/list${every}`, { headers })).json()).toHaveLength(60)
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends cleanly on %s', async (signal, code) => {
    const { child, url, ended, stderr } = await start(['--port', '0'])
    await (await fetch(url)).text()
    child.kill(signal)
    expect(await ended).toBe(code)
    expect(stderr()).toBe('')
  })

  test('a taken port is an error with a way out, never another port', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => holder.once('listening', resolve))
    const { port } = holder.address() as { port: number }
    const { code, out, err } = await end('serve', '--port', String(port))
    holder.close()
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(new RegExp(`^Failed to listen on 127\\.0\\.0\\.1:${port}: the port is taken\\. .*--port \\d+`))
    expect(err.trim().split('\n')).toHaveLength(1)
  })
})

describe('what was mistyped', () => {
  test.each([
    [['serve', '--prot', '3'], 'Failed to read --prot: there is no such flag. Did you mean --port?'],
    [['srve'], "Failed to run 'srve': there is no such command. Did you mean 'serve'?"],
    [['--clock', 'manuel'], "Failed to read --clock 'manuel': did you mean 'manual'? Words are manual, scaled."],
    [['--port', 'abc'], "Failed to read --port 'abc': no integer. Give an integer from 0 to 65535"],
    [['--port', '-1'], 'Failed to read --port'],
    [['--port', '70000'], "Failed to read --port '70000': too large."],
    [['--speed', '0'], "Failed to read --speed '0': give a number above 0"],
    [['--clock', 'manual', '--speed', '5'], 'Failed to set the clock: --speed is for a scaled clock.'],
    [
      ['--fixtures', 'defualt'],
      "Failed to read fixture 'defualt': there is no fixture of that name. Did you mean 'default'?",
    ],
    [['--epoch', 'yesterday'], "Failed to read the epoch 'yesterday'"],
    [['--max-storage', 'lots'], "Failed to read --max-storage 'lots'"],
    [['run', 'scenarios/cold-strat.ts'], 'cold-start.ts'],
    [['run', '--seed'], 'Failed to read --seed: it needs a value.'],
    [['endpoints', '--json', '--markdown'], 'Failed to print: --json and --markdown are two forms.'],
  ] as const)('%j is told in one line, with exit code 2', async (args, message) => {
    const said = { out: '', err: '' }
    vi.spyOn(process.stdout, 'write').mockImplementation(text => {
      said.out += String(text)
      return true
    })
    vi.spyOn(process.stderr, 'write').mockImplementation(text => {
      said.err += String(text)
      return true
    })
    await main(args)
    vi.restoreAllMocks()
    const code = process.exitCode
    process.exitCode = undefined
    expect(said.err).toContain(message)
    expect([code, said.out]).toEqual([2, ''])
    expect(said.err.trim().split('\n')).toHaveLength(1)
  })

  test('reaches the exit code of the process', async () => {
    const { code, err } = await end('srve')
    expect(code).toBe(2)
    expect(err).not.toContain('    at ')
  })
})

describe('the other commands', () => {
  test('endpoints lists all of them with their provenance', async () => {
    const { code, out } = await end('endpoints', '--json')
    const rows = JSON.parse(out) as { provenance: string; method: string; path: string }[]
    expect(code).toBe(0)
    expect(rows.filter(row => row.provenance === 'documented')).toHaveLength(21)
    expect((await end('endpoints')).out).toContain('21 documented, 5 neighbours')
  })

  test('env prints what points a client at the server', async () => {
    const { out } = await end('env')
    for (const name of ['MODELHOST_SIM_URL', 'MODELHOST_SIM_TOKEN', 'OPENAI_BASE_URL', 'OPENAI_API_KEY']) {
      expect(out).toMatch(new RegExp(`^(export )?${name}=`, 'm'))
    }
  })

  test('run plays a scenario and compares its trace', async () => {
    const { code, out } = await end('run', 'scenarios/node-lost-during-cold-start.ts')
    expect(code).toBe(0)
    expect(out).toContain('✓ a node is lost during a cold start')
  })

  test('--version and --help say what there is, and every command is in the help', async () => {
    expect((await end('--version')).out.trim()).toBe('0.1.0')
    const { out } = await end('--help')
    for (const name of ['serve', 'run', 'endpoints', 'env', 'Exit codes']) expect(out).toContain(name)
  })
})

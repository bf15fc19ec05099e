/** Weather of the world and of the wire together: each pack does what its name says. */
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../../src/server/http/server.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'

test('hardware fails about ten times as often in a bad week as on an office day', () => {
  const { packs } = createSimulator().world.profile.weather
  const ratio = packs['bad-week']!.nodeFaultsPerHour / packs['office-day']!.nodeFaultsPerHour
  expect(ratio).toBeCloseTo(10)
})

test('the wire faults of a pack are rules after those of the options, and reset and fork keep them', () => {
  const own = { on: 'getMe', fault: { kind: 'empty' } } as const
  const sim = createSimulator({ weather: 'launch-day', faults: [own] })
  const ids = () => sim.faults.list().map(({ id }) => id)
  const all = ['fault-1', 'weather-lost-answers', 'weather-errors', 'weather-rate-limits', 'weather-slow-answers']
  expect(ids()).toEqual(all)
  sim.faults.clear()
  sim.reset()
  expect(ids()).toEqual(all)
  expect(
    sim
      .fork()
      .faults.list()
      .map(({ id }) => id),
  ).toEqual(all)
  expect(createSimulator({ weather: 'calm' }).faults.list()).toEqual([])
  expect(createSimulator({ weather: 'none', profile: 'rough' }).world.profile.weather.pack).toBe('none')
  const given = { timings: { drain: '3s' }, weather: { packs: { storm: { wire_errors: 1 } } } }
  const storm = createSimulator({ profile: given, weather: 'storm', documentedOnly: true })
  expect(storm.world.profile.timings.drain).toBe(3_000_000)
  expect(storm.faults.list()).toMatchObject([{ id: 'weather-errors', rule: { chance: 1 } }])
})

test('an unknown pack is refused with the nearest name', () => {
  expect(() => createSimulator({ weather: 'lunch-day' })).toThrow(
    new RangeError(
      "Failed to find the weather 'lunch-day': did you mean 'launch-day'? Packs are " +
        'none, calm, realistic, spot-2023, rough, office-day, launch-day, bad-week, provider-incident, payment-trouble.',
    ),
  )
  expect(() => createSimulator({ weather: 5 as never })).toThrow(
    /^Failed to find the weather '5': the profile has no such/,
  )
})

test('on a server weather never affects the control plane, and a world may have another weather', {
  tags: 'slow',
}, async () => {
  const storm = { weather: { packs: { storm: { wire_errors: 1 } } } }
  const server = await serve(createSimulator({ profile: storm, weather: 'storm' }), { port: 0 })
  onTestFinished(() => server.close())
  const statuses = async (path: string, times: number) =>
    new Set(await Promise.all(Array.from({ length: times }, async () => (await fetch(`${server.url}${path}`)).status)))
  expect(await statuses('/v1/me', 3)).toEqual(new Set([503]))
  for (const path of ['/_sim/clock', '/_sim/faults', '/_sim/journal', '/_sim/worlds', '/openapi.json'])
    expect([path, await statuses(path, 3)]).toEqual([path, new Set([200])])
  const make = async (body: object) => {
    const made = await fetch(`${server.url}/_sim/worlds`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: made.status, body: (await made.json()) as Record<string, string> }
  }
  for (const weather of ['none', null]) {
    const { token } = (await make({ weather })).body
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${server.url}/v1/me`, { headers })).status).toBe(200)
  }
  expect(await make({ weather: 'stom' })).toMatchObject({ status: 400 })
})

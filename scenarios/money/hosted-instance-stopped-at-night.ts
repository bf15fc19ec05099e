import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a hosted instance is stopped at night, and its bill has the hours of the days alone',
  {
    fixtures: 'empty',
    seed: 53,
    with: { account: { funds_cents: 10_000 } },
    tags: ['money', 'hosted'],
    teaches:
      'A hosted instance is billed for each second that it runs. Stopped, it costs nothing and keeps its storage and id.',
    client: 'Stops what it does not use, waits for running after a start, and compares the bill with price_per_hour.',
  },
  async ({ api, clock, check, expectRefusal }) => {
    const key = await api.addSshKey({ name: 'desk', key: KEY })
    const box = { name: 'workbench', plan_id: 'large', region: 'eu-north', ssh_key_ids: [key.id] }
    await expectRefusal(api.createHosted({ ...box, region: 'mars' }), 400, 'has no region mars')
    const one = await api.createHosted(box)
    const state = async () => (await api.getHosted(one)).state
    const running = () => clock.until(async () => (await state()) === 'running', { within: '15m' })

    let billed = 0
    for (const _day of ['Monday', 'Tuesday', 'Wednesday']) {
      await running()
      const { start_ts } = await api.getHosted(one)
      await clock.advance('9h')
      await api.stopHosted(one)
      await clock.until(async () => (await state()) === 'stopped', { within: '1m' })
      const { stop_ts } = await api.getHosted(one)
      billed += stop_ts! - start_ts
      await clock.advance('15h')
      check(await api.getHosted(one), { state: 'stopped', public_ip: null })
      await api.startHosted(one)
    }
    await api.stopHosted(one)

    const { id_to_duration } = await api.getRentUsage({ from: 1_767_225_600 })
    const rented = id_to_duration[one.instance_id]!
    check(Math.abs(rented - billed) <= 3, true, 'the record and the bill agree to the second')
    check(Math.floor(rented / 3600), 27, 'three days of nine hours, and no night')
    const { months } = await api.getUsage({ from: 'current' })
    const { price_per_hour } = await api.getHosted(one)
    check(months[0]!.items, [{ cost: Math.floor((rented / 3600) * price_per_hour * 100), units: rented }])
  },
)

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f robin@desk'

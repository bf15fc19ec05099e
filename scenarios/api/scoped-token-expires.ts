import { Refusal, scenario } from 'modelhost-sim/scenario'

const MODEL = 'aurora-labs/aurora-8b-instruct'

export default scenario(
  'a scoped token expires between two requests',
  {
    fixtures: 'default',
    seed: 77,
    tags: ['access'],
    teaches: 'A scoped token ends by its time or its spending limit, in the middle of a session.',
    client: 'Renews the token at 401, stops at 402 and 403, and reads from each answer which of them it is.',
  },
  async ({ api, clock, check, expectRefusal }) => {
    const issue = async () => {
      const { token } = await api.createScopedToken({
        api_key_name: 'default',
        models: [MODEL],
        expires_delta: 600,
        spending_limit: 0.5,
      })
      return token
    }
    const first = await issue()
    check(await api.inspectScopedToken({ jwtoken: first }), { models: [MODEL], spending_limit: 0.5 })
    let mine = api.as(first)
    let renewals = 0
    const chat = async (model: string) => {
      const body = { model, messages: [{ role: 'user' as const, content: 'Hello!' }], max_tokens: 20 }
      try {
        return await mine.createChatCompletion(body)
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 401) throw error
        renewals++
        mine = api.as(await issue())
        return mine.createChatCompletion(body)
      }
    }
    for (let minute = 0; minute < 27; minute += 3) {
      await chat(MODEL)
      await clock.advance('3m')
    }
    check(renewals, 2, 'a token lives ten minutes')
    await expectRefusal(chat('acme/assistant'), 403, 'does not allow acme/assistant')
    await expectRefusal(mine.listDeployments(), 403, 'requests to models')
    await expectRefusal(api.as(`${first}x`).createChatCompletion({ model: MODEL, messages: [] }), 401)
  },
)

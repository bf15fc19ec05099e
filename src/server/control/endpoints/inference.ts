import * as z from 'zod'
import { ScriptRule } from '../../../service/openai/scripted-answers.ts'
import { control, refuseInvalid } from '../endpoint.ts'

const ScriptedAnswerView = z.looseObject({ name: z.string(), hits: z.int() })

export const listScriptedAnswers = control({
  route: 'GET /_sim/inference',
  summary: 'List the rules for scripted answers of models in the order in which they are tried',
  returns: z.object({ rules: z.array(ScriptedAnswerView) }),
  handle: ({ sim }) => ({ rules: sim.inference.list().map(rule => ({ ...rule })) }),
})

export const scriptAnswer = control({
  route: 'POST /_sim/inference',
  summary:
    'Add a rule for scripted answers: which requests it answers (`model`, `contains`, `times`), and a `text`, ' +
    '`json`, `toolCall` or `error`',
  refusals: { 400: 'a duplicate name' },
  body: ScriptRule,
  returns: ScriptedAnswerView,
  example: { body: { contains: 'weather', answer: { text: 'Sunny, 21 degrees.' } } },
  handle: ({ sim, body }) => refuseInvalid(() => ({ ...sim.inference.get(sim.inference.add(body).name) })),
})

export const clearScriptedAnswers = control({
  route: 'DELETE /_sim/inference',
  summary: 'Remove all rules for scripted answers',
  returns: z.object({}),
  handle: ({ sim }) => {
    sim.inference.clear()
    return {}
  },
})

export const removeScriptedAnswer = control({
  route: 'DELETE /_sim/inference/{name}',
  summary: 'Remove a rule for scripted answers',
  refusals: { 404: 'an unknown name' },
  returns: z.object({}),
  example: { target: '/_sim/inference/script-1' },
  handle: ({ sim, params: { name } }) =>
    refuseInvalid(() => {
      sim.inference.remove(name)
      return {}
    }, 404),
})

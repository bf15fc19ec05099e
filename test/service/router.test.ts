import { describe, expect, test } from 'vitest'
import { OPERATIONS } from '../../src/service/declarations.ts'
import { endpointPaths } from '../../src/service/endpoint.ts'
import { Router } from '../../src/service/http/router.ts'

const routes = [
  'GET /deploy/list',
  'POST /deploy/llm',
  'GET /deploy/{deploy_id}',
  'DELETE /deploy/{deploy_id}',
  'GET /deploy/{deploy_id}/stats',
  'POST /deploy/{deploy_id}/start',
  'GET /deploy/llm/gpu_availability',
  'GET /models/list',
  'GET /models/deployment/list',
  'GET /models/{model_name}',
  'DELETE /models/{model_name}',
  'GET /models/{model_name}/versions',
  'GET /models/{model_name}/schema/{variantKey}',
  'GET /v1/voices',
  'GET /v1/voices/{voice_id}',
  'POST /v1/lora/create',
  'PATCH /v1/lora/{lora_name}',
  'GET /v1/model/{model_name}/loras',
  'POST /v1/inference/{model_name}',
  'POST /v1/inference/deploy/{deploy_id}',
]
const router = new Router(
  routes.map(route => {
    const [method, path] = route.split(' ') as [string, string]
    return [{ method, path }, route] as const
  }),
)

const SCHEMA = 'GET /models/{model_name}/schema/{variantKey}'

describe('the endpoint of a spelling', () => {
  test.each<[string, string, string | number, Record<string, string>?]>([
    ['GET', '/deploy/list', 'GET /deploy/list', {}],
    ['GET', '/deploy/list/', 'GET /deploy/list', {}],
    ['GET', '/deploy/%6Cist', 'GET /deploy/list', {}],
    ['HEAD', '/deploy/list', 'GET /deploy/list', {}],
    ['GET', '/deploy/Abc', 'GET /deploy/{deploy_id}', { deploy_id: 'Abc' }],
    ['GET', '/deploy/Abc/', 'GET /deploy/{deploy_id}', { deploy_id: 'Abc' }],
    ['GET', '/deploy/a%2Fb', 'GET /deploy/{deploy_id}', { deploy_id: 'a/b' }],
    ['GET', '/deploy/a%20b', 'GET /deploy/{deploy_id}', { deploy_id: 'a b' }],
    ['GET', '/deploy/%F0%9F%A6%99', 'GET /deploy/{deploy_id}', { deploy_id: '🦙' }],
    ['GET', '/deploy/a+b', 'GET /deploy/{deploy_id}', { deploy_id: 'a+b' }],
    ['GET', '/deploy/a%2525b', 'GET /deploy/{deploy_id}', { deploy_id: 'a%25b' }],
    ['GET', '/deploy/__proto__', 'GET /deploy/{deploy_id}', { deploy_id: '__proto__' }],
    ['GET', '/deploy/Abc/stats', 'GET /deploy/{deploy_id}/stats', { deploy_id: 'Abc' }],
    ['GET', '/deploy/llm/gpu_availability', 'GET /deploy/llm/gpu_availability', {}],
    ['GET', '/deploy/llm', 405],
    ['POST', '/deploy/llm', 'POST /deploy/llm', {}],
    ['POST', '/deploy/Abc/start/', 'POST /deploy/{deploy_id}/start', { deploy_id: 'Abc' }],
    ['DELETE', '/deploy/list', 405],
    ['GET', '/models/list', 'GET /models/list', {}],
    ['GET', '/models/deployment/list', 'GET /models/deployment/list', {}],
    ['DELETE', '/models/deployment/list', 405],
    ['GET', '/models/chat', 'GET /models/{model_name}', { model_name: 'chat' }],
    ['GET', '/models/acme/chat', 'GET /models/{model_name}', { model_name: 'acme/chat' }],
    ['GET', '/models/acme%2Fchat', 'GET /models/{model_name}', { model_name: 'acme/chat' }],
    ['GET', '/models/acme%2fchat/', 'GET /models/{model_name}', { model_name: 'acme/chat' }],
    ['DELETE', '/models/acme/chat', 'DELETE /models/{model_name}', { model_name: 'acme/chat' }],
    ['GET', '/models/chat/versions', 'GET /models/{model_name}/versions', { model_name: 'chat' }],
    ['GET', '/models/acme/chat/versions', 'GET /models/{model_name}/versions', { model_name: 'acme/chat' }],
    ['GET', '/models/acme%2Fchat/versions', 'GET /models/{model_name}/versions', { model_name: 'acme/chat' }],
    ['GET', '/models/acme/chat/schema/default', SCHEMA, { model_name: 'acme/chat', variantKey: 'default' }],
    ['GET', '/models/acme%2Fchat/schema/default/', SCHEMA, { model_name: 'acme/chat', variantKey: 'default' }],
    ['GET', '/models/chat/schema/default', SCHEMA, { model_name: 'chat', variantKey: 'default' }],
    ['GET', '/models/schema/schema/schema', SCHEMA, { model_name: 'schema', variantKey: 'schema' }],
    ['GET', '/v1/model/acme/chat/loras', 'GET /v1/model/{model_name}/loras', { model_name: 'acme/chat' }],
    ['POST', '/v1/inference/chat', 'POST /v1/inference/{model_name}', { model_name: 'chat' }],
    ['POST', '/v1/inference/acme/chat', 'POST /v1/inference/{model_name}', { model_name: 'acme/chat' }],
    ['POST', '/v1/inference/deploy/Abc', 'POST /v1/inference/deploy/{deploy_id}', { deploy_id: 'Abc' }],
    ['POST', '/v1/inference/deploy%2FAbc', 'POST /v1/inference/{model_name}', { model_name: 'deploy/Abc' }],
    ['GET', '/v1/voices', 'GET /v1/voices', {}],
    ['GET', '/v1/voices/', 'GET /v1/voices', {}],
    ['GET', '/v1/voices/v', 'GET /v1/voices/{voice_id}', { voice_id: 'v' }],
    ['POST', '/v1/lora/create', 'POST /v1/lora/create', {}],
    ['PATCH', '/v1/lora/create', 405],
    ['GET', '/', 404],
    ['GET', '', 404],
    ['GET', '/deploy', 404],
    ['GET', '/deploy/', 404],
    ['GET', '//deploy/list', 404],
    ['GET', '/deploy//list', 404],
    ['GET', '/deploy/list//', 404],
    ['GET', '/Deploy/list', 404],
    ['GET', '/models/a/b/c', 404],
    ['GET', '/models/a/b/schema', 404],
    ['GET', '/models/a/b/schema/default/x', 404],
    ['GET', '/deploy/%', 404],
    ['GET', '/deploy/%zz', 404],
    ['GET', '/deploy/%C3%28', 404],
    ['GET', '/%E0%A4%A/list', 404],
    ['POST', '/deploy/list', 405],
    ['PUT', '/deploy/Abc', 405],
    ['OPTIONS', '/v1/voices', 405],
    ['GET', '/v1/lora/create', 405],
  ])('%s %s → %s', (method, path, expected, params) => {
    const match = router.match(method, path)
    if (expected === 404) expect(match).toBeUndefined()
    else if (expected === 405) expect(match).toHaveProperty('allow')
    else expect(match).toEqual({ target: expected, params })
  })

  test('a wrong method gets the valid methods, sorted', () => {
    expect(router.match('PUT', '/deploy/Abc')).toEqual({ allow: ['DELETE', 'GET', 'HEAD'] })
    expect(router.match('GET', '/v1/lora/create')).toEqual({ allow: ['POST'] })
  })
})

/** Every declared route, each with a path of its own for the values of its parameters. */
describe('routes with parameters', () => {
  const paths = Object.values(OPERATIONS).flatMap(entry => endpointPaths(entry).map(path => [entry.method, path]))
  const all = new Router(
    paths.map(([method, path]) => [{ method: method!, path: path! }, `${method} ${path}`] as const),
  )
  const fill = (path: string, value: string) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(name === 'model_name' ? `acme/${value}` : value))

  test('find the endpoint of each path, with a slash in the name of a model and without', () => {
    for (const [method, path] of paths) {
      for (const value of ['x', 'acme.chat-8b', 'Ünïcode', '0']) {
        for (const spell of [(text: string) => text, (text: string) => text.replaceAll('%2F', '/')]) {
          const requested = spell(fill(path!, value))
          expect([requested, all.match(method!, requested)]).toEqual([
            requested,
            expect.objectContaining({ target: `${method} ${path}` }),
          ])
        }
      }
    }
  })

  test('never take the literal path of a sibling', () => {
    const literal = paths.filter(([, path]) => !path!.includes('{'))
    for (const [method, path] of literal) {
      expect(all.match(method!, path!)).toEqual({ target: `${method} ${path}`, params: {} })
      for (const other of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const match = all.match(other, path!)
        if (match !== undefined && 'target' in match) expect(match.target).toBe(`${other} ${path}`)
      }
    }
  })

  test('never take a longer path with a literal word in the place of their parameter', () => {
    const router = new Router(
      ['POST /v1/inference/{model_name}', 'POST /v1/inference/deploy/{deploy_id}'].map(route => {
        const [method, path] = route.split(' ') as [string, string]
        return [{ method, path }, route] as const
      }),
    )
    const expected = { target: 'POST /v1/inference/deploy/{deploy_id}', params: { deploy_id: 'x' } }
    expect(router.match('POST', '/v1/inference/deploy/x')).toEqual(expected)
    expect(router.match('POST', '/v1/inference/acme/x')).toMatchObject({ params: { model_name: 'acme/x' } })
    expect(router.match('POST', '/v1/inference/deploy')).toMatchObject({ params: { model_name: 'deploy' } })
  })
})

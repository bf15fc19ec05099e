import { expect, test } from 'vitest'
import { BASE, relocatePage } from '../../../tools/site/relocate.ts'

const page = (body: string) => `<html>
  <head>
    <link rel="preload stylesheet" href="${BASE}assets/style.css" as="style">
    <script type="module" src="${BASE}assets/app.js"></script>
    <link rel="modulepreload" href="${BASE}assets/chunk.js">
  </head>
  <body>
    ${body}
    <script>window.__VP_SITE_DATA__=JSON.parse("{\\"base\\":\\"${BASE}\\",\\"title\\":\\"a\\"}");</script>
  </body>
</html>`

test.each([
  ['index.html', './'],
  ['docs/clock.html', '../'],
  ['docs/decisions/0001.html', '../../'],
])('the links of %s lead to the root of the site by %s', (name, root) => {
  const links = `<a href="${BASE}docs/"></a><a href="${BASE}"></a><a href="./b.html#c"></a><a href="./d/#e"></a>`
  const text = relocatePage(
    page(`${links}<a href="#f"></a><a href="https://example.test/"></a><img src="${BASE}a.svg">`),
    name,
  )
  expect(Array.from(text.matchAll(/(?:href|src)="([^"]*)"/g), ([, value]) => value)).toEqual([
    ...[`${root}assets/style.css`, `${root}docs/index.html`, `${root}index.html`, './b.html#c', './d/index.html#e'],
    ...['#f', 'https://example.test/', `${root}a.svg`],
  ])
  expect(text).toContain(`script.src='${root}assets/app.js'`)
  expect(text).not.toContain(BASE)
})

test('the data of the site have the path at which the page was opened', () => {
  const text = relocatePage(page(''), 'docs/clock.html')
  const scripts = Array.from(text.matchAll(/<script>(.*?)<\/script>/gs), ([, code]) => code!)
  const run = new Function(
    'location',
    'document',
    'window',
    `${scripts[0]};${scripts[1]};return [__SITE_PATH__, __SITE_ROOT__]`,
  )
  const window: { __VP_SITE_DATA__?: { base: string; title: string } } = {}
  const location = new URL('http://host/some%20where/docs/clock.html?a#b')
  expect(run(location, {}, window)).toEqual(['/some%20where/', '/some where/'])
  expect(window.__VP_SITE_DATA__).toEqual({ base: '/some%20where/', title: 'a' })
})

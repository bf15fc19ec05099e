import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { drawnFigures } from '../../../tools/scaffold/figures.ts'

test('the pictures of docs are as the command draws them', async () => {
  for (const { path, text } of await drawnFigures()) {
    expect(readFileSync(path, 'utf8') === text, `${path}: run npm run generate`).toBe(true)
  }
})

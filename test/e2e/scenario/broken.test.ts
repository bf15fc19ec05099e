/** Eight scenarios, each broken on purpose: the printed error has to tell a new user what to do. */
import { expect, test } from 'vitest'
import { runCloned } from '../cli/process.ts'

test('run prints every failure of the broken scenarios', async () => {
  const { code, stdout, stderr } = await runCloned(['run', 'test/workbench/scenario/broken'])
  // How long it took is another every time.
  const said = `${stderr}\n${stdout}`.replaceAll(/, [\d.]+ ms$/gm, '').replaceAll(/ in [\d.]+ s(?=$|;)/gm, '')
  expect(code).toBe(2)
  await expect(said).toMatchFileSnapshot('../../workbench/scenario/broken/said.txt')
})

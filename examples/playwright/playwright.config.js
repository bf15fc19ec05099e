import { defineConfig } from '@playwright/test'

const { SIM_PORT = '4010', APP_PORT = '3000' } = process.env
const sim = `http://127.0.0.1:${SIM_PORT}`
const app = `http://127.0.0.1:${APP_PORT}`

export default defineConfig({
  testMatch: '*.spec.js',
  fullyParallel: true,
  reporter: 'list',
  use: { baseURL: app },
  metadata: { sim },
  webServer: [
    {
      command: `npx modelhost-sim serve --port ${SIM_PORT} --clock manual --fixtures empty --unknown-tokens fork`,
      url: `${sim}/_sim/health`,
      reuseExistingServer: false,
    },
    {
      command: 'node app.js',
      url: `${app}/health`,
      env: { APP_PORT, MODELHOST_URL: sim },
      reuseExistingServer: false,
    },
  ],
})

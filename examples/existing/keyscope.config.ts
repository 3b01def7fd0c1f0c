import { defineConfig } from 'keyscope/cli';
import { routesOf, toolsOf } from 'keyscope/lock';
import { keyring, store } from './access.ts';

export default defineConfig({
  keyring,
  store,
  async routes() {
    const { app } = await import('./app.ts');
    const { tools } = await import('./mcp.ts');
    return [...routesOf(app), ...toolsOf({ keyring, tools })];
  },
});

import { defineConfig } from 'keyscope/cli';
import { routesOf, toolsOf } from 'keyscope/lock';
import { keyring, store } from './access.ts';
import { db } from './product.ts';

export default defineConfig({
  keyring,
  store,
  peppers: ['2026-11'],
  sql: { dialect: 'postgres', query: async (sql) => (await db.$client.query(sql)).rows },
  async routes() {
    const { app } = await import('./app.ts');
    const { tools } = await import('./mcp.ts');
    return [...routesOf(app), ...toolsOf({ keyring, tools })];
  },
});

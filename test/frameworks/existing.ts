/** Starts the service of docs/existing-service.md on Express and on Nest, over PostgreSQL. */
import 'reflect-metadata';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { SERVERS } from '../support/servers.ts';

const SCHEMA = `keyscope_existing_${process.pid}`;

const TABLES = `
  CREATE TABLE projects (id text PRIMARY KEY, organization_id text NOT NULL, name text);
  CREATE TABLE invoices (
    id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    organization_id text NOT NULL,
    amount integer NOT NULL
  );
  CREATE TABLE sessions (
    id text PRIMARY KEY, organization_id text NOT NULL, email text NOT NULL, role text NOT NULL
  );
  INSERT INTO projects VALUES ('p1', 'org_a', 'Ours'), ('p2', 'org_b', 'Theirs');
  INSERT INTO sessions VALUES
    ('s-admin', 'org_a', 'ada@a.example', 'admin'),
    ('s-member', 'org_a', 'bob@a.example', 'member'),
    ('s-other', 'org_b', 'eve@b.example', 'admin');
`;

const url = new URL(SERVERS.postgres);
url.searchParams.set('options', `-c search_path=${SCHEMA}`);
// The service reads both when it loads.
process.env.DATABASE_URL = url.href;
process.env.PEPPER = 'a pepper of the test, of at least thirty-two bytes';

/** Makes the product's tables. Returns what removes them, and all keys. */
export async function createDatabase(): Promise<() => Promise<void>> {
  const owner = new pg.Client({ connectionString: url.href });
  await owner.connect();
  await owner.query(`CREATE SCHEMA ${SCHEMA}`);
  await owner.query(TABLES);
  return async () => {
    const { db } = await import('./.project/existing/product.ts');
    await db.$client.end();
    await owner.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
    await owner.end();
  };
}

interface Started {
  readonly url: string;
  close(): Promise<unknown>;
}

export const SERVICES: Readonly<Record<string, () => Promise<Started>>> = {
  async Express() {
    const { app } = await import('./.project/existing/app.ts');
    const server: Server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const close = () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    };
    return { url: `http://127.0.0.1:${port}`, close };
  },
  async Nest() {
    const { AppModule } = await import('./.project/existing/app.module.ts');
    const app = await NestFactory.create(AppModule, { logger: false });
    await app.listen(0, '127.0.0.1');
    return { url: await app.getUrl(), close: () => app.close() };
  },
};

import { postgresStore } from 'keyscope/stores/postgres';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Threat } from './schema.ts';

const url = process.env.DATABASE_URL ?? '';
export const db = new DataSource({ type: 'postgres', url, entities: [Threat] });
await db.initialize();
const { master: pool } = db.driver as PostgresDriver;
export const store = postgresStore(pool);

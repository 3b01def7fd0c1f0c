import { DatabaseSync } from 'node:sqlite';
import Better from 'better-sqlite3';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { storeContract } from 'keyscope/testing';
import { describe, test } from 'vitest';

describe('node:sqlite in memory', () => storeContract(test, () => sqliteStore(new DatabaseSync(':memory:'))));
describe('better-sqlite3 in memory', () => storeContract(test, () => sqliteStore(new Better(':memory:'))));

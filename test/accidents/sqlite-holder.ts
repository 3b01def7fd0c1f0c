/** Holds the lock of a SQLite file: `sqlite-holder.ts <file> <IMMEDIATE | EXCLUSIVE> <ms>`. */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const [path = '', mode = '', ms = ''] = process.argv.slice(2);
const db = new DatabaseSync(path, { timeout: 5_000 });
db.exec(`BEGIN ${mode}`);
process.send?.('held');
await sleep(Number(ms));
db.exec('COMMIT');
db.close();
process.disconnect?.();

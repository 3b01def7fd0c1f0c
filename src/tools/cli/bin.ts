#!/usr/bin/env node
/** The command `keyscope`. */
import { main } from './main.js';

await main(process.argv.slice(2));

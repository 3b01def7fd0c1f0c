/** For processes of tests: without these flags, Node 24 may hang at exit (nodejs/node#64274). */
import { setFlagsFromString } from 'node:v8';

for (const flag of ['--no-maglev', '--no-concurrent-sparkplug']) setFlagsFromString(flag);

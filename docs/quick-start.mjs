// `node docs/quick-start.mjs` runs the README's quick start from the source, sends it a request with
// its key and one without, and draws what the terminal shows as `quick-start.svg`.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '..');
const HEADERS = /^(?:HTTP|Cache-Control|Content-Type|WWW-Authenticate)/i;
const COLORS = { prompt: '#7ee787', status: '#79c0ff', text: '#e6edf3', header: '#9da7b3' };
const SIZE = 13;
const LINE = 20;
const PADDING = 20;
const COLUMNS = 68;

const lines = await record();
writeFileSync(join(import.meta.dirname, 'quick-start.svg'), draw(lines));
console.log(lines.map(({ text }) => text).join('\n'));

async function record() {
  const [, code] = readFileSync(join(ROOT, 'README.md'), 'utf8').match(/```js\n([\s\S]*?)```/);
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-quick-start-'));
  writeFileSync(join(folder, 'server.mjs'), code);
  const hooks = join(ROOT, 'test/support/typescript.ts');
  const stdio = ['ignore', 'pipe', 'inherit'];
  const server = spawn('node', ['--import', hooks, 'server.mjs'], { cwd: folder, stdio });
  try {
    const [command] = await once(createInterface(server.stdout), 'line');
    const withoutKey = command.replace(/ -H '[^']*'/, '');
    return [
      { text: '$ node server.mjs &', kind: 'prompt' },
      ...wrap(command).map((text) => ({ text, kind: 'text' })),
      ...(await send(command)),
      ...(await send(withoutKey)),
    ];
  } finally {
    server.kill();
    rmSync(folder, { recursive: true });
  }
}

/** Runs a command and returns the lines of it and of its answer: the headers that matter, and the body. */
async function send(command) {
  const { stdout } = await promisify(execFile)('bash', ['-c', `${command} --silent`]);
  const [head, body] = stdout.split('\r\n\r\n');
  const shown = head.split('\r\n').filter((line) => HEADERS.test(line));
  return [
    { text: '', kind: 'text' },
    ...wrap(`$ ${command}`).map((text) => ({ text, kind: 'prompt' })),
    ...shown.map((text) => ({ text, kind: text.startsWith('HTTP') ? 'status' : 'header' })),
    { text: '', kind: 'text' },
    ...wrap(body).map((text) => ({ text, kind: 'text' })),
  ];
}

/** Breaks at spaces where it can, so that the picture is narrow enough for a phone. */
function wrap(text) {
  const some = `.{1,${COLUMNS}}`;
  return text.match(new RegExp(`${some}(?= |$)|${some}`, 'gy')) ?? [];
}

/** On a dark ground of its own, so that it is readable on light and dark pages. */
function draw(shown) {
  const width = Math.round(COLUMNS * SIZE * 0.6) + 2 * PADDING;
  const height = shown.length * LINE + 2 * PADDING;
  const font = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';
  const rows = shown.map(({ text, kind }, index) => {
    const y = PADDING + (index + 1) * LINE - 6;
    return `<text x="${PADDING}" y="${y}" fill="${COLORS[kind]}">${escapeText(text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-labelledby="title">
<title id="title">The quick start: 200 with its key, 401 without one</title>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117" stroke="#30363d"/>
<g font-family="${font}" font-size="${SIZE}">
${rows.join('\n')}
</g>
</svg>
`;
}

function escapeText(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

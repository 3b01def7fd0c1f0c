// `node docs/figures.ts` draws the figures of the pages, as SVG in `docs/figures`. Each has a ground
// of its own, follows the colors of the page, and stays readable at the width of a phone.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const WIDTH = 440;
const MONO = 'class="mono"';
const BOLD = 'class="bold"';
const SOFT = 'class="soft"';

export const FIGURES: Readonly<Record<string, string>> = {
  'key-anatomy': anatomy(),
  'key-states': states(),
  rotation: rotation(),
  peppers: peppers(),
  revocation: revocation(),
  request: request(),
  parts: parts(),
};

if (import.meta.main) {
  const folder = join(import.meta.dirname, 'figures');
  mkdirSync(folder, { recursive: true });
  for (const [name, svg] of Object.entries(FIGURES))
    writeFileSync(join(folder, `${name}.svg`), svg);
}

function anatomy(): string {
  const step = 10.8;
  const at = (index: number) => fixed((WIDTH - 37 * step) / 2 + index * step);
  const letters = [
    { from: 0, words: 'acme', hue: 'blue' },
    { from: 4, words: '_', hue: 'soft' },
    { from: 5, words: '0123456789ABCDEFGHIJKLMNOP', hue: 'orange' },
    { from: 31, words: '00I1VW', hue: 'green' },
  ];
  const parts = [
    { from: 0, to: 4, drop: 2, name: 'prefix', about: 'whose key it is', hue: 'blue' },
    { from: 5, to: 31, drop: 18, name: 'entropy', about: '154.8 random bits', hue: 'orange' },
    {
      from: 31,
      to: 37,
      drop: 32,
      name: 'checksum',
      about: 'CRC-32 of all before it',
      hue: 'green',
    },
    {
      from: 33,
      to: 37,
      drop: 35,
      name: 'hint',
      about: 'its last four: lists show them',
      hue: 'green',
    },
  ];
  const drawn = letters.map(({ from, words, hue }) => {
    const length = fixed(words.length * step);
    return `<text x="${at(from)}" y="42" class="mono large ${hue}" textLength="${length}">${words}</text>`;
  });
  for (const [row, { from, to, drop, name, about, hue }] of parts.entries()) {
    const y = 96 + row * 28;
    const top = name === 'hint' ? 60 : 54;
    const side = name === 'prefix' ? 1 : -1;
    const label = `<tspan ${BOLD}>${name}</tspan> ${about}`;
    drawn.push(
      line(`M${at(from) + 1} ${top}H${at(to) - 1}M${at(drop)} ${top}V${y - 5}h${side * 6}`, hue),
      text(at(drop) + side * 12, y, label, side === 1 ? 'start' : 'end'),
    );
  }
  return draw('The parts of a key: prefix, entropy, checksum and hint', 200, drawn);
}

function states(): string {
  return draw('The states of a key, and what leads from one to the next', 330, [
    box(70, 20, 150, 'live', 'it authenticates'),
    box(320, 20, 104, 'suspended', '401'),
    arrow('M220 36H316'),
    text(268, 30, 'suspend', 'middle'),
    arrow('M320 58H224'),
    text(268, 76, 'resume', 'middle'),
    arrow('M95 68V226'),
    arrow('M175 68V226'),
    arrow('M205 68L338 226'),
    arrow('M385 68V226'),
    text(86, 130, 'expiresAt', 'end'),
    text(86, 148, 'passes', 'end'),
    text(168, 112, 'rotate,', 'end'),
    text(168, 130, 'then', 'end'),
    text(168, 148, 'retireAt', 'end'),
    text(168, 166, 'passes', 'end'),
    text(330, 190, 'revoke', 'middle'),
    box(16, 230, 124, 'expired', '401'),
    box(154, 230, 124, 'retired', '401'),
    box(292, 230, 132, 'revoked', '401'),
    text(220, 310, 'No way leads back from these three.', 'middle', SOFT),
  ]);
}

function rotation(): string {
  return draw('A rotation: the old key and the new one both work for the overlap', 220, [
    `<rect x="150" y="46" width="150" height="112" class="shade"/>`,
    line('M150 36V168M300 36V168', 'soft dashed'),
    text(150, 28, 'rotate', 'middle', MONO),
    text(300, 28, 'retireAt', 'middle', MONO),
    bar(16, 60, 284, 'blue'),
    text(83, 80, 'old key works', 'middle', BOLD),
    text(312, 80, '401'),
    bar(150, 112, 274, 'green'),
    text(362, 132, 'new key works', 'middle', BOLD),
    arrow('M225 186H154'),
    arrow('M225 186H296'),
    text(225, 206, 'overlapMs: replace it in your clients', 'middle'),
  ]);
}

function peppers(): string {
  return draw('Three roll-outs: add the new pepper, put it first, remove the old one', 190, [
    ...[110, 220, 340].flatMap((x, index) => [
      line(`M${x} 36V140`, 'soft dashed'),
      text(x, 28, `roll-out ${index + 1}`, 'middle'),
    ]),
    bar(16, 48, 324, 'blue'),
    text(118, 68, 'old: digests new keys', 'middle', BOLD),
    text(280, 68, 'only verifies', 'middle'),
    bar(110, 96, 314, 'green'),
    text(165, 116, 'only verifies', 'middle'),
    text(322, 116, 'new: digests new keys', 'middle', BOLD),
    arrow('M280 156H224'),
    arrow('M280 156H336'),
    text(280, 176, 'replace the keys', 'middle'),
  ]);
}

function revocation(): string {
  const lanes = [
    { name: ['the process', 'that revoked it'], until: 0, when: 'at once' },
    { name: ['others'], until: 12, when: 'milliseconds' },
    { name: ['others, if the', 'channel is down'], until: 120, when: 'maxStalenessMs' },
    {
      name: ['and if the store', 'is down, too'],
      until: 274,
      inside: '+ insecureStaleIfErrorMs, if set',
    },
  ];
  const revoked = 150;
  const drawn = [
    text(revoked, 28, 'revoke', 'middle', MONO),
    line(`M${revoked} 36V252`, 'soft dashed'),
    ...lanes.flatMap(({ name, until, when = '', inside = '' }, index) => {
      const y = 48 + index * 52;
      const first = y + (name.length === 1 ? 21 : 13);
      return [
        ...name.map((words, row) => text(16, first + row * 16, words)),
        bar(revoked - 20, y, until + 20, 'blue'),
        text(revoked + until + 8, y + 21, when),
        text(revoked + until - 8, y + 21, inside, 'end'),
      ];
    }),
    text(220, 280, 'Blue: a cached look-up may still let the key in.', 'middle', SOFT),
  ];
  return draw('How long a revoked key can still be admitted', 298, drawn);
}

function request(): string {
  const steps = [
    { name: 'Guard', about: 'the adapter you copied' },
    { name: 'Credential', about: 'exactly one, well-formed', answer: '400, 401' },
    { name: 'Key', about: 'format and checksum', answer: '401' },
    { name: 'Look-up', about: 'by digest: cache, then store', answer: '401, 503' },
    { name: 'Record', about: 'seal, then state', answer: '401' },
    { name: 'Entity and scopes', about: 'of the operation, by your policy', answer: '400, 403' },
    { name: 'Your handler', about: 'gets principal and entityId' },
  ];
  const drawn = [
    text(150, 26, 'Authorization: Bearer acme_…', 'middle', MONO),
    arrow('M150 34V48'),
    `<rect x="10" y="109" width="280" height="328" rx="8" class="line dashed"/>`,
    text(302, 437, 'the keyring', 'start', SOFT),
    text(344, 120, 'refused with', 'start', SOFT),
    ...steps.flatMap(({ name, about, answer }, index) => {
      const y = 52 + index * 66;
      const isLast = index === steps.length - 1;
      return [
        box(20, y, 260, name, about),
        isLast ? '' : arrow(`M150 ${y + 48}V${y + 62}`),
        answer === undefined ? '' : arrow(`M280 ${y + 23}H336`),
        answer === undefined ? '' : text(344, y + 28, answer, 'start', BOLD),
      ];
    }),
  ];
  return draw('A request through the parts, and the answer of each that refuses it', 516, drawn);
}

function parts(): string {
  return draw('The parts of the package, and which imports which', 232, [
    box(16, 20, 408, 'optional entries', 'stores, cache, jwt, mcp, leaks, …: imported one by one'),
    arrow('M87 68V98'),
    arrow('M220 68V172'),
    arrow('M353 68V98'),
    box(16, 102, 142, 'management', 'makes and ends keys'),
    box(282, 102, 142, 'http', 'writes responses'),
    arrow('M120 150L162 172'),
    arrow('M320 150L278 172'),
    box(130, 176, 180, 'core', 'decides who gets in'),
  ]);
}

function fixed(number: number): number {
  return Math.round(number * 10) / 10;
}

function text(x: number, y: number, words: string, anchor = 'start', look = ''): string {
  if (words === '') return '';
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" ${look}>${words}</text>`;
}

function box(x: number, y: number, width: number, name: string, about: string): string {
  const middle = x + width / 2;
  return `<rect x="${x}" y="${y}" width="${width}" height="48" rx="6" class="box"/>
${text(middle, y + 20, name, 'middle', BOLD)}
${text(middle, y + 38, about, 'middle', SOFT)}`;
}

function bar(x: number, y: number, width: number, hue: string): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="32" rx="4" class="fill ${hue}"/>`;
}

function line(path: string, hue: string): string {
  return `<path d="${path}" class="line ${hue}"/>`;
}

function arrow(path: string): string {
  return `<path d="${path}" class="line" marker-end="url(#head)"/>`;
}

function draw(title: string, height: number, drawn: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" role="img" aria-labelledby="title">
<title id="title">${title}</title>
<style>
svg { --ground: #ffffff; --edge: #d0d7de; --box: #f6f8fa; --text: #1f2328; --soft: #59636e; --blue: #0969da; --green: #1a7f37; --orange: #bc4c00 }
@media (prefers-color-scheme: dark) { svg { --ground: #0d1117; --edge: #3d444d; --box: #161b22; --text: #e6edf3; --soft: #9da7b3; --blue: #79c0ff; --green: #7ee787; --orange: #ffa657 } }
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--text) }
.mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.large { font-size: 18px }
.bold { font-weight: 600 }
.box { fill: var(--box); stroke: var(--edge) }
.line { fill: none; stroke: var(--soft) }
.dashed { stroke-dasharray: 4 4 }
.shade { fill: var(--soft); fill-opacity: 0.15 }
.fill { fill-opacity: 0.2 }
text.soft { fill: var(--soft) }
text.blue, .fill.blue { fill: var(--blue) }
text.green, .fill.green { fill: var(--green) }
text.orange { fill: var(--orange) }
.line.blue { stroke: var(--blue) }
.line.green { stroke: var(--green) }
.line.orange { stroke: var(--orange) }
.head { fill: var(--soft) }
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" class="head"/></marker></defs>
<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8" fill="var(--ground)" stroke="var(--edge)"/>
${drawn.filter(Boolean).join('\n')}
</svg>
`;
}

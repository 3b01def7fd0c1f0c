/** The style of all pages. It is text, so that it needs no copying when you compile the console. */
import { TABLE_STYLE } from './table-style.ts';

export const STYLE = `:root {
  color-scheme: light dark;
  --line: light-dark(#d5dae1, #353d48);
  /* The border of input fields: a contrast of 3:1 with the card. */
  --edge: light-dark(#7d8794, #717d8b);
  --muted: light-dark(#4d5967, #a9b4c1);
  --accent: light-dark(#0b57a4, #8cc3ff);
  --grave: light-dark(#a11d1d, #ff9c94);
  --wary: light-dark(#b45c00, #ffb454);
  --good: light-dark(#1d7a3c, #5ccf80);
  --card: light-dark(#fff, #1c2128);
  --ground: light-dark(#f4f6f8, #12161b);
  --tint: light-dark(#eef1f5, #2a313a);
}

body {
  margin: 0;
  background: var(--ground);
  color: light-dark(#16202b, #e6ebf1);
  font:
    1rem / 1.5 system-ui,
    sans-serif;
}

:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 2px;
}

header {
  display: flex;
  flex-wrap: wrap;
  gap: 0.5rem 2rem;
  align-items: center;
  justify-content: space-between;
  padding: 0.75rem 1.5rem;
  border-bottom: 1px solid var(--line);
  background: var(--card);

  form {
    display: flex;
    gap: 0.75rem;
    align-items: baseline;
    color: var(--muted);
    font-size: 0.9rem;
  }
}

main {
  max-width: 70rem;
  margin: 2rem auto;
  padding: 0 1.5rem;
}

a {
  color: var(--accent);
}

/* A name in another direction must not turn the text around it. */
a,
small,
code,
td,
th,
dd,
h1 {
  unicode-bidi: isolate;
}

h1 {
  margin: 0 0 1rem;
  font-size: 1.5rem;
  line-height: 1.25;
  overflow-wrap: anywhere;
}

h2 {
  margin: 2rem 0 0.5rem;
  font-size: 1.1rem;
}

p,
dl {
  max-width: 45rem;
}

small {
  color: var(--muted);
  font-size: 0.875rem;
}

dialog {
  position: static;
  width: auto;
  max-width: 42rem;
  margin: 0;
  padding: 1.5rem 2rem;
  border: 1px solid var(--line);
  border-radius: 0.5rem;
  background: var(--card);
  color: inherit;
}

fieldset {
  display: grid;
  gap: 0.4rem;
  min-width: 0;
  margin: 0.75rem 0;
  padding: 0.5rem 1rem 1rem;
  border: 1px solid var(--line);
  border-radius: 0.35rem;

  p {
    margin: 0 0 0.25rem;
    color: var(--muted);
  }

  label[for] {
    margin-top: 0.5rem;
  }
}

legend {
  padding: 0 0.35rem;
  margin-left: -0.35rem;
  font-weight: 600;
}

.fields {
  display: grid;
  gap: 0.5rem;
  max-width: 42rem;

  > label {
    margin-top: 0.5rem;
  }

  label[for] {
    font-weight: 600;
  }

  > p {
    margin: 0.5rem 0;
  }
}

.scope {
  display: grid;
  grid-template-columns: auto 1fr;
  gap: 0.6rem;
  align-items: baseline;

  /* The scope, and what it allows. */
  > span {
    display: grid;
    grid-template-columns: 11rem 1fr;
    gap: 0 0.75rem;
    align-items: baseline;
  }
}

input,
select,
textarea,
button,
.button {
  box-sizing: border-box;
  min-height: 2.5rem;
  padding: 0.4rem 0.75rem;
  border: 1px solid var(--edge);
  border-radius: 0.35rem;
  background: var(--card);
  color: inherit;
  font: inherit;
}

[type="checkbox"] {
  min-height: 0;
  accent-color: var(--accent);
}

button,
.button {
  display: inline-block;
  border-color: var(--accent);
  color: var(--accent);
  text-decoration: none;
  cursor: pointer;
}

.button {
  background: var(--accent);
  color: var(--card);
}

.quiet.button {
  background: none;
  color: var(--accent);
}

.grave {
  border-color: var(--grave);
  color: var(--grave);
}

.actions,
.key,
.search {
  display: flex;
  flex-wrap: wrap;
  gap: 0.75rem 1rem;
  align-items: center;
  max-width: none;
}

.search {
  margin: 1rem 0;

  label {
    display: flex;
    gap: 0.5rem;
    align-items: center;
  }
}

summary {
  width: fit-content;
  color: var(--grave);
  cursor: pointer;
}

[role="alert"] {
  max-width: none;
  margin: 0 0 1rem;
  padding: 0.5rem 0.75rem;
  border-left: 4px solid var(--grave);
  background: light-dark(#fbeaea, #33191a);
}

.notice {
  max-width: none;
  margin: 0 0 1rem;
  padding: 0.5rem 0.75rem;
  border-left: 4px solid var(--good);
  background: light-dark(#e8f5ec, #17301f);
}

code,
.key input {
  font-family: ui-monospace, monospace;
  font-size: 0.9em;
  overflow-wrap: anywhere;
}

/* The whole key is visible, on a phone too. */
.key input {
  max-width: 100%;
  font-size: min(0.9rem, 3.2vw);
}

/* A scope. */
.whole {
  display: inline-block;
  max-width: 100%;
  box-sizing: border-box;

  span {
    white-space: nowrap;
  }
}

time * {
  white-space: nowrap;
}

.state {
  display: block;
  position: relative;
  padding-left: 1.1em;

  &::before {
    content: "";
    position: absolute;
    top: 0.4375em;
    left: 0;
    width: 0.625em;
    height: 0.625em;
    border-radius: 50%;
    background: var(--muted);
  }

  &.good::before {
    background: var(--good);
  }

  &.wary::before {
    background: var(--wary);
  }

  &.bad::before {
    background: var(--grave);
  }

  /* Hollow: the key has ended. */
  &.over::before {
    box-sizing: border-box;
    border: 2px solid var(--muted);
    background: none;
  }
}

.fault {
  color: var(--grave);
}

[aria-invalid="true"] {
  border-color: var(--grave);
}
${TABLE_STYLE}`;

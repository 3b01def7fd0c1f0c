/** The style of tables, and of all pages on narrow screens. */
export const TABLE_STYLE = `
.wide {
  overflow-x: auto;
  border: 1px solid var(--line);
  border-radius: 0.5rem;
  background: var(--card);
}

table {
  width: 100%;
  border-collapse: collapse;
}

th,
td {
  padding: 0.6rem 1rem;
  text-align: left;
  vertical-align: baseline;
}

tbody tr {
  border-top: 1px solid var(--line);
}

/* A remark on a cell's content goes below it. */
td > small {
  display: block;
}

tbody th {
  min-width: 10rem;
  overflow-wrap: anywhere;

  small {
    display: block;
    font-weight: normal;
  }
}

thead th {
  color: var(--muted);
  font-size: 0.875rem;
  font-weight: 500;
}

.keys {
  td .whole {
    margin: 0.1rem 0.15rem 0.1rem 0;
    padding: 0.05rem 0.4rem;
    border-radius: 0.25rem;
    background: var(--tint);
  }

  time small {
    display: block;
  }

  summary,
  details button {
    white-space: nowrap;
  }

  details button {
    display: block;
    margin-top: 0.5rem;
  }
}

[data-column="Scopes"] {
  min-width: 11rem;
}

[data-column="Organization"] {
  min-width: 10rem;
  overflow-wrap: normal;
}

dl {
  display: grid;
  grid-template-columns: max-content 1fr;
  gap: 0.25rem 1.5rem;
}

dt {
  color: var(--muted);
}

dd {
  margin: 0;
  overflow-wrap: anywhere;
}

/* Too narrow for columns: each row becomes a list, and each cell names its column. */
@media (max-width: 62rem) {
  thead {
    display: none;
  }

  tr,
  tbody th,
  td {
    display: block;
  }

  tbody tr {
    padding: 0.75rem 1rem;
  }

  tbody tr:first-child {
    border-top: none;
  }

  tbody th,
  td {
    padding: 0.1rem 0;
  }

  td[data-column] {
    position: relative;
    min-width: 0;
    padding-left: 7rem;

    &::before {
      content: attr(data-column);
      position: absolute;
      left: 0;
      color: var(--muted);
      font-size: 0.875rem;
      line-height: 1.7;
    }
  }

  .keys time small {
    display: inline;
  }
}

@media (max-width: 34rem) {
  header,
  main {
    padding-inline: 1rem;
  }

  main {
    margin-block: 1.25rem;
  }

  header form {
    width: 100%;
    justify-content: space-between;
  }

  dialog {
    padding: 1rem;
  }

  .scope > span {
    grid-template-columns: 1fr;
  }

  .search label {
    width: 100%;
  }

  .search input,
  .search select {
    flex: 1;
    min-width: 0;
  }
}
`;

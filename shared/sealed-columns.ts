export interface SealedColumn {
  table: string;
  column: string;
  /** `text`: one sealed value. `json`: any number of them, at any depth (`sealSecrets`). */
  type: 'text' | 'json';
  /** What binds a value to its row, by the row's id. Changing it makes every stored value unreadable. */
  context(id: string): string;
}

/** Every column that holds sealed values: what writes one takes its context from here, and so does the rotation of keys. */
export const sealedColumns = {
  tenantDBURL: {
    table: 'tenant',
    column: 'tenant_db_url',
    type: 'text',
    context: (id) => `tenant:${id}:tenantDBURL`,
  },
  datasourceOptions: {
    table: 'datasource',
    column: 'datasource_options',
    type: 'json',
    context: (id) => `datasource:${id}:datasourceOptions`,
  },
  tenantDatabasePassword: {
    table: 'tenant_database',
    column: 'password',
    type: 'text',
    context: (id) => `tenant_database:${id}:password`,
  },
  oauthTokens: {
    table: 'oauth_connection',
    column: 'tokens',
    type: 'text',
    context: (id) => `oauth_connection:${id}:tokens`,
  },
} satisfies Record<string, SealedColumn>;

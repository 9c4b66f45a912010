export interface SealedColumn {
  table: string;
  column: string;
  /** `text`: one sealed value. `json`: any number of them, at any depth (`sealSecrets`). */
  type: 'text' | 'json';
  /** The context that binds a value to its row. Changing it makes all stored values unreadable. */
  context(id: string): string;
  /** The column with the id that `context` gets. Default: `id`. */
  of?: string;
}

/** All columns with sealed values. Their writers and the rotation of keys take the context from here. */
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
  /** A copy of `datasourceOptions`. */
  residueOptions: {
    table: 'listener_residue',
    column: 'datasource_options',
    type: 'json',
    context: (id) => `datasource:${id}:datasourceOptions`,
    of: 'datasource_id',
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
  /** A copy of `oauthTokens`. */
  revocationTokens: {
    table: 'oauth_revocation',
    column: 'tokens',
    type: 'text',
    context: (id) => `oauth_connection:${id}:tokens`,
    of: 'oauth_connection_id',
  },
  variableSecret: {
    table: 'tenant_variable',
    column: 'secret',
    type: 'text',
    context: (id) => `tenant_variable:${id}:secret`,
  },
  aiKey: {
    table: 'ai_config',
    column: 'api_key',
    type: 'text',
    context: (id) => `ai_config:${id}:apiKey`,
  },
  importRequest: {
    table: 'import_job',
    column: 'request',
    type: 'text',
    context: (id) => `import_job:${id}:request`,
  },
} satisfies Record<string, SealedColumn>;

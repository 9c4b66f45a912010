export interface SealedColumn {
  /** The thing that has the secret, for reports. */
  kind: string;
  table: string;
  column: string;
  /** `text`: one sealed value. `json`: any number of them, at any depth (`sealSecrets`). */
  type: 'text' | 'json';
  /** The context that binds a value to its row. Changing it makes all stored values unreadable. */
  context(id: string): string;
  /** The column with the id that `context` gets. Default: `id`. */
  of?: string;
  /** For `json`: the column with the type of the datasource whose options these are. Its schema declares which fields are secrets. */
  datasourceType?: string;
  /** Rows that belong to the deployment, and to no tenant. */
  isOfDeployment?: true;
}

/** All columns with sealed values. Their writers and the rotation of keys take the context from here. */
export const sealedColumns = {
  tenantDBURL: {
    kind: 'tenant database URL',
    table: 'tenant',
    column: 'tenant_db_url',
    type: 'text',
    context: (id) => `tenant:${id}:tenantDBURL`,
  },
  datasourceOptions: {
    kind: 'datasource',
    table: 'datasource',
    column: 'datasource_options',
    type: 'json',
    context: (id) => `datasource:${id}:datasourceOptions`,
    datasourceType: 'datasource_type',
  },
  /** A copy of `datasourceOptions`. */
  residueOptions: {
    kind: 'remote resource of a listener',
    table: 'listener_residue',
    column: 'datasource_options',
    type: 'json',
    context: (id) => `datasource:${id}:datasourceOptions`,
    of: 'datasource_id',
    datasourceType: 'listener_type',
  },
  tenantDatabasePassword: {
    kind: 'tenant database',
    table: 'tenant_database',
    column: 'password',
    type: 'text',
    context: (id) => `tenant_database:${id}:password`,
  },
  oauthTokens: {
    kind: 'OAuth connection',
    table: 'oauth_connection',
    column: 'tokens',
    type: 'text',
    context: (id) => `oauth_connection:${id}:tokens`,
  },
  /** A copy of `oauthTokens`. */
  revocationTokens: {
    kind: 'OAuth revocation',
    table: 'oauth_revocation',
    column: 'tokens',
    type: 'text',
    context: (id) => `oauth_connection:${id}:tokens`,
    of: 'oauth_connection_id',
  },
  variableSecret: {
    kind: 'variable',
    table: 'tenant_variable',
    column: 'secret',
    type: 'text',
    context: (id) => `tenant_variable:${id}:secret`,
  },
  aiKey: {
    kind: 'AI configuration',
    table: 'ai_config',
    column: 'api_key',
    type: 'text',
    context: (id) => `ai_config:${id}:apiKey`,
  },
  importRequest: {
    kind: 'import',
    table: 'import_job',
    column: 'request',
    type: 'text',
    context: (id) => `import_job:${id}:request`,
  },
  signInKey: {
    kind: 'key of the built-in sign-in',
    table: 'sign_in_key',
    column: 'secret',
    type: 'text',
    context: (id) => `sign_in_key:${id}:secret`,
    isOfDeployment: true,
  },
  totpSecret: {
    kind: 'second factor of an account',
    table: 'sign_in_account',
    column: 'totp_secret',
    type: 'text',
    context: (id) => `sign_in_account:${id}:totpSecret`,
    isOfDeployment: true,
  },
} satisfies Record<string, SealedColumn>;

/** All sealed columns, with `SealedColumn` for a type. */
export const allSealedColumns: readonly SealedColumn[] = Object.values(sealedColumns);

export const exampleSchemaCreate = { schemaName: 'sales' };

export const exampleRawSql = { sql: 'select id, total from orders where total > $1', params: [100] };

const constraint = {
  constraintName: 'orders_customer_id_fkey',
  constraintType: 'FOREIGN KEY',
  databaseTableColumns: ['customer_id'],
  referencedTable: 'customers',
  referencedColumns: ['id'],
  onDelete: 'CASCADE',
};

export const exampleTableCreate = {
  databaseTableName: 'orders',
  columns: [
    { databaseTableColumnName: 'id', databaseTableColumnType: 'bigint', primaryKey: true },
    { databaseTableColumnName: 'customer_id', databaseTableColumnType: 'bigint', notNull: true },
    {
      databaseTableColumnName: 'total',
      databaseTableColumnType: 'numeric(10,2)',
      defaultValue: 0,
      check: 'total >= 0',
    },
  ],
  constraints: [constraint],
};

export const exampleTableUpdate = {
  columns: [...exampleTableCreate.columns, { databaseTableColumnName: 'note', databaseTableColumnType: 'text' }],
};

const rows = [
  { id: 1, customer_id: 7, total: '249.00' },
  { id: 2, customer_id: 9, total: '19.90' },
];

export const exampleRowsAdd = { databaseTableRowData: rows };
export const exampleRowsUpdate = {
  databaseTableRowData: [
    { id: 1, total: '199.00' },
    { data: { total: '199.00' }, where: { id: { '=': 1 } } },
  ],
};
export const exampleRowsDelete = { where: { total: { '<': 20 } } };
export const exampleRowsExport = { where: { total: { '>': 100 } }, order: 'total desc', exportFormat: 'csv' };

export const exampleTriggerCreate = {
  databaseTableName: 'orders',
  databaseTriggerName: 'orders_touch',
  triggerTiming: 'BEFORE',
  triggerEvents: 'UPDATE',
  triggerFunction: 'public.touch',
  triggerCondition: 'OLD.total IS DISTINCT FROM NEW.total',
};

export const exampleChange = { message: 'Done', sql: ['DROP TABLE "public"."orders"'], preview: false };

export const exampleSchemaChange = {
  message: 'Done',
  sql: ['CREATE SCHEMA "sales"'],
  preview: false,
  databaseSchema: { databaseSchemaName: 'sales' },
};

export const exampleSqlResults = {
  message: 'Executed',
  result: [{ id: 1, total: '249.00' }],
  rowCount: 1,
  results: [
    {
      command: 'SELECT',
      rowCount: 1,
      truncated: false,
      notices: [],
      columns: [
        { name: 'id', type: 'int8' },
        { name: 'total', type: 'numeric' },
      ],
      rows: [],
    },
  ],
};

const size = { estimatedRowCount: 1200, sizeBytes: 98304 };

export const exampleMetadata = {
  metadata: [
    {
      databaseSchemaName: 'public',
      tables: [
        {
          databaseTableName: 'orders',
          databaseTableColumns: [{ databaseTableColumnName: 'id', databaseTableColumnType: 'bigint' }],
          keys: [{ constraintName: 'orders_pkey', constraintType: 'PRIMARY KEY' }],
          indexes: [
            {
              indexName: 'orders_pkey',
              indexDefinition: 'CREATE UNIQUE INDEX orders_pkey ON public.orders USING btree (id)',
            },
          ],
          ...size,
        },
      ],
      views: ['open_orders'],
      enums: [{ enum_name: 'order_state', values: ['open', 'paid'] }],
    },
  ],
};

export const exampleSchema = { databaseSchemaName: 'public', tableCount: 4, sizeBytes: 393216 };

export const exampleTable = {
  databaseSchemaName: 'public',
  databaseTableName: 'orders',
  databaseTableType: 'BASE TABLE',
  primaryKey: ['id'],
  databaseTableColumns: [
    {
      databaseTableColumnName: 'id',
      databaseTableColumnType: 'bigint',
      isList: false,
      isNullable: false,
      notNull: true,
      defaultValue: null,
      isGenerated: false,
      isIdentity: true,
      enumValues: null,
      unique: true,
      primaryKey: true,
      check: null,
    },
  ],
  databaseTableConstraints: [
    { ...constraint, constraintSchema: 'public', referencedSchema: 'public', onUpdate: 'NO ACTION', check: null },
  ],
};

export const exampleRows = {
  databaseTableRows: rows.map((row, index) => ({ ctid: `(0,${index + 1})`, ...row })),
  page: 1,
  pageSize: 100,
  nextPage: null,
};

export const exampleStatistics = { databaseTableRowCount: 1204, ...size };

export const exampleTrigger = {
  databaseSchemaName: 'public',
  databaseTableName: 'orders',
  databaseTriggerName: 'orders_touch',
  triggerTiming: 'BEFORE',
  triggerEvents: ['UPDATE'],
  triggerDefinition:
    'CREATE TRIGGER orders_touch BEFORE UPDATE ON public.orders FOR EACH ROW WHEN ((old.total IS DISTINCT FROM new.total)) EXECUTE FUNCTION touch()',
  triggerFunction: 'touch',
  forEach: 'ROW',
  whenCondition: 'old.total IS DISTINCT FROM new.total',
  referencingOld: null,
  referencingNew: null,
  deferrable: false,
  initiallyDeferred: false,
  isEnabled: true,
};

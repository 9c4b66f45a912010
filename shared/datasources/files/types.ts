/** Types of uploaded files. */
export const fileTypes = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  parquet: 'application/vnd.apache.parquet',
  sqlite: 'application/vnd.sqlite3',
} as const;

export type FileType = (typeof fileTypes)[keyof typeof fileTypes];

/** A group of a form, for fields that are seldom set. A field with one of the names belongs to the group in every type. */
export interface FieldGroup {
  readonly label: string;
  readonly fields: readonly string[];
}

/** How long something may take and what follows a failure: nodes, datasources and queries have fields for it. */
export const TIME_AND_ERRORS = 'Time and errors';

const ADVANCED = 'Advanced';

/** Groups of `datasourceOptions`. */
export const datasourceGroups: readonly FieldGroup[] = [
  {
    label: 'Signature',
    fields: [
      ...['algorithm', 'signatureHeader', 'signatureEncoding', 'signaturePrefix'],
      ...['timestampHeader', 'signedContent', 'toleranceSeconds', 'publicUrl'],
    ],
  },
  {
    label: 'Handshake',
    fields: [
      ...['handshake', 'verifyToken', 'handshakeFrom', 'handshakeField', 'handshakeTokenField'],
      'handshakeAnswer',
    ],
  },
  { label: 'Certificate', fields: ['sslVerify', 'tlsVerify', 'caCertificate'] },
  { label: TIME_AND_ERRORS, fields: ['timeout', 'connectTimeout', 'heartbeat', 'keepAlive'] },
  {
    label: ADVANCED,
    fields: [
      ...['connectionName', 'applicationName', 'clientId', 'protocolVersion', 'subscriptionEndpoint'],
      ...['contentType', 'followRedirects', 'apiVersion'],
    ],
  },
];

/** Groups of `dataQueryOptions`. */
export const queryGroups: readonly FieldGroup[] = [
  { label: 'Result', fields: ['maxRows', 'rowsPerPage', 'cacheSeconds', 'transform'] },
  { label: TIME_AND_ERRORS, fields: ['timeoutSeconds', 'replyTimeoutMs', 'retries'] },
  { label: ADVANCED, fields: ['operationName'] },
];

/** Groups of `listenerConfig`. */
export const listenerGroups: readonly FieldGroup[] = [
  { label: 'Status and body of the answer', fields: ['responseStatusCode', 'responseBody', 'resultTimeoutSeconds'] },
  { label: 'Duplicates', fields: ['dedupBy', 'dedupField', 'dedupWindowMinutes'] },
  {
    label: 'Processing',
    fields: ['orderBy', 'prefetch', 'batchSize', 'maxBodyBytes', 'maxAttachmentBytes'],
  },
  { label: ADVANCED, fields: ['consumerGroup', 'consumerName', 'queueGroup', 'operationName'] },
];

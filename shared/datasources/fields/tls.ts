import { z } from 'zod';

/** The description of a field that turns the check of certificates off. */
export const verifyWords = {
  title: 'Verify the certificate',
  description: 'Off: any certificate is accepted, also that of an attacker between Gantry and the server',
};

export const certificateWords = {
  title: 'CA certificate',
  description:
    'PEM text of the authority that has signed the certificate of the server, such as one of your own. Empty: a public authority',
};

/** Fields for checking a server's certificate, beside the type's own field that turns TLS on. */
export const certificateFields = {
  tlsVerify: z.boolean().default(true).meta(verifyWords),
  caCertificate: z.string().max(100_000).optional().meta(certificateWords),
};

// Type-checked against the declarations for `require`; never run.
import connect = require('dodici/connect')

export const transport = connect.createTransport({ baseUrl: 'https://localhost', protocol: 'connect' })

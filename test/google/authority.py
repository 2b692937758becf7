# SPDX-License-Identifier: Apache-2.0
"""An authority for certificates that only tests trust. Call cloud_env.enter() before."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa


def new_key():
    return rsa.generate_private_key(65537, 2048)


def pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def certify(folder, names, number=""):
    """The paths of an authority's certificate, and of a server's for these names, with its key.
    `number`: an address that it may have, too."""
    now = datetime.datetime.now(datetime.timezone.utc)
    signer, issuer = new_key(), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ours")])

    def make(key, subject, extensions):
        builder = x509.CertificateBuilder(
            issuer,
            subject,
            key.public_key(),
            x509.random_serial_number(),
            now - datetime.timedelta(hours=1),
            now + datetime.timedelta(hours=8),
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    ca, server = folder / "ca.pem", folder / "server.pem"
    ca.write_bytes(make(signer, issuer, [(x509.BasicConstraints(True, None), True)]))
    key, all_names = new_key(), [x509.DNSName(name) for name in names]
    if number:
        all_names.append(x509.IPAddress(ipaddress.ip_address(number)))
    server.write_bytes(make(key, x509.Name([]), [(x509.SubjectAlternativeName(all_names), True)]) + pem(key))
    return ca, server

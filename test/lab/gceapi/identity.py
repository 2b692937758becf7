# SPDX-License-Identifier: Apache-2.0
"""Who asks: service accounts with their keys, the tokens that they got, and Google's token endpoint
(RFC 7523), which verifies what is signed."""

import json
import secrets
import time
import urllib.parse

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

GOOGLES = "https://oauth2.googleapis.com/token"  # google-auth signs for it, wherever it sends it
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
CLOUD = "https://www.googleapis.com/auth/cloud-platform"
SERVICE = "https://compute.googleapis.com/"
COMPUTE = "https://www.googleapis.com/auth/compute"
READ_ONLY = "https://www.googleapis.com/auth/compute.readonly"


class Account:
    def __init__(self, email):
        self.email = email
        self.key = None  # made when it is asked for: not every account has one

    def private_pem(self):
        if self.key is None:
            self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()

    def public_pem(self):
        return self.key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class Token:
    def __init__(self, text, email, scopes, ends):
        self.text = text
        self.email = email
        self.scopes = scopes
        self.ends = ends

    @property
    def good(self):
        return time.time() < self.ends

    def may(self, verb):
        """Whether its scopes let it make such a request of Compute Engine."""
        enough = {CLOUD, COMPUTE} | ({READ_ONLY} if verb == "GET" else set())
        return bool(enough & set(self.scopes))


class Identity:
    """`life`: gives the seconds that a new token is good."""

    def __init__(self, *emails):
        self.accounts = {email: Account(email) for email in emails}
        self.tokens = {}
        self.life = 3599.0
        self.endpoint = None  # the URL of the token endpoint
        self.asked = []  # what was asked there: (email or None, status)

    def add(self, email):
        return self.accounts.setdefault(email, Account(email))

    def issue(self, email, scopes):
        token = Token("ya29.lab" + secrets.token_urlsafe(90), email, scopes, time.time() + self.life)
        self.tokens[token.text] = token
        return token

    def find(self, header):
        """The token of an Authorization header, or None."""
        kind, _, text = (header or "").partition(" ")
        token = self.tokens.get(text.strip())
        if token is None and text.count(".") == 2 and not text.startswith("ya29."):
            token = self.self_signed(text.strip())
        return token if kind == "Bearer" and token and token.good else None

    def self_signed(self, text):
        """Google takes an account's own signature for a token, too ("self-signed JWT")."""
        try:
            account = self.accounts[jwt.decode(text, verify=False)["iss"]]
            claims = jwt.decode(text, certs=account.public_pem())
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        scopes = claims.get("scope", "").split()
        if claims.get("aud") == SERVICE:
            scopes = [CLOUD]
        return Token(text, account.email, scopes, claims["exp"])

    def revoke_all(self):
        self.tokens.clear()

    def key_file(self, email, project):
        """What Google gives who makes a key for a service account."""
        return json.dumps(
            {
                "type": "service_account",
                "project_id": project,
                "private_key_id": "lab" + "0" * 37,
                "private_key": self.add(email).private_pem(),
                "client_email": email,
                "client_id": "100000000000000000001",
                "token_uri": self.endpoint,
                "auth_uri": "https://accounts.google.com/o/oauth2/auth",
                "universe_domain": "googleapis.com",
            }
        )

    def __call__(self, handler):
        """The token endpoint."""
        status, told, email = self.exchange(handler)
        self.asked.append((email, status))
        handler.out(status, json.dumps(told), {"Content-Type": "application/json"})

    def exchange(self, handler):
        form = dict(urllib.parse.parse_qsl(handler.body().decode(errors="replace")))
        if handler.command != "POST" or form.get("grant_type") != GRANT:
            return 400, {"error": "unsupported_grant_type", "error_description": "Invalid grant_type"}, None
        email, scopes, why = self.verify(form.get("assertion", ""))
        if why:
            return 400, {"error": "invalid_grant", "error_description": why}, email
        token = self.issue(email, scopes)
        told = {"access_token": token.text, "expires_in": int(self.life), "token_type": "Bearer"}
        return 200, told, email

    def verify(self, assertion):
        """(who signed it, the scopes asked for, '' or why it is refused)."""
        try:
            email = jwt.decode(assertion, verify=False).get("iss")
            account = self.accounts.get(email)
            if account is None or account.key is None:
                return email, [], "Invalid grant: account not found"
            good = [GOOGLES, self.endpoint]
            claims = jwt.decode(assertion, certs=account.public_pem(), audience=good)
        except (ValueError, TypeError) as error:
            return None, [], f"Invalid JWT: {error}"
        if claims["exp"] - claims["iat"] > 3600:
            return email, [], "Invalid JWT: Token must be a short-lived token (60 minutes)"
        if not claims.get("scope"):
            return email, [], "Invalid OAuth scope or ID token audience provided."
        return email, claims["scope"].split(), ""

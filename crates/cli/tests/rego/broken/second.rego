package broken

allow {{
